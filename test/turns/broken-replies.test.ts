import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { rewriteSids } from '../../src/core/citations/sids.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import { blocksOfTurn } from '../../src/core/timeline/timeline.ts'
import { createHarness, type Harness, type RecordedTurn } from '../../src/testing/harness.ts'
import { defineTool } from '../../src/tools/define.ts'
import { brokenReply } from '../support/generators/broken-replies.ts'
import { weather } from '../support/scenario-tools.ts'
import { deltasOf, laneText } from '../support/watch-turn.ts'

const exec = defineTool({
  id: 'sample.exec',
  description: 'Runs code.',
  params: z.object({ contract: z.array(z.object({ filename: z.string(), description: z.string() })) }),
  exec: true,
  run: (_, { code = '' }) => code.length,
})

const tools = [weather(), exec]

/** Deltas whose number is not the next of their lane. A new attempt and a restarted lane begin at 0 again. */
function gapsIn(events: readonly TurnEvent[]): readonly string[] {
  const next = new Map<string, number>()
  const gaps: string[] = []
  for (const { iteration, attempt, delta } of deltasOf(events)) {
    if (delta.extra) continue // the state of a program always has index 0
    const lane = `${iteration} ${attempt} ${delta.marker} ${delta.artifact_name}`
    if (delta.index !== 0 && delta.index !== next.get(lane)) gaps.push(`${lane} ${delta.index}`)
    next.set(lane, delta.index + 1)
  }
  return gaps
}

/** In all, ten thousand replies: in each batch 250 conversations of five replies. Batches let a failure show early. */
const batches = 8
const conversations = 250
const replies = 5

describe('with any model output', () => {
  it.each(Array.from({ length: batches }, (_, batch) => batch + 1))(
    'every turn ends with an answer and a closed turn (batch %i)',
    async (batch) => {
      const ends = new Map<string, number>()
      await fc.assert(
        fc.asyncProperty(fc.array(brokenReply, { minLength: replies, maxLength: replies }), async (script) => {
          const harness = createHarness({ replies: script, tools, settings: { maxRounds: 3 } })
          while (harness.model.left > 0) {
            const turn = await harness.say('Do it.')
            ends.set(turn.exitReason, (ends.get(turn.exitReason) ?? 0) + 1)
            await expectAnswered(harness, turn)
          }
        }),
        { numRuns: conversations, seed: batch },
      )
      expect([...ends.keys()].sort()).toEqual(expect.arrayContaining(['complete', 'error', 'max_iterations', 'protocol_violation']))
    },
    120_000,
  )
})

async function expectAnswered(harness: Harness, turn: RecordedTurn): Promise<void> {
  expect(turn.error === undefined || turn.error.cause !== undefined).toBe(true) // errors come from the provider, never from our code
  expect(turn.answer.trim()).not.toBe('')
  expect(laneText(turn.events, 'answer').trim()).not.toBe('')
  expect(gapsIn(turn.events)).toEqual([])

  const timeline = await harness.timeline()
  expect(timeline.openTurn).toBeUndefined()
  const blocks = blocksOfTurn(timeline, turn.turnId)
  const called = blocks.filter(({ type }) => type === 'react.tool.call').map(({ call_id }) => call_id)
  const answered = new Set(blocks.filter(({ type }) => type === 'react.tool.result').map(({ call_id }) => call_id))
  expect(called.filter((callId) => !answered.has(callId))).toEqual([])
  expect(blocks.find(({ type }) => type === 'user.prompt')?.text).toBe('Do it.')
  const written = blocks.findLast(({ type }) => type === 'assistant.completion')?.text ?? ''
  expect(rewriteSids(written, new Map())).toBe(turn.answer) // the conversation has no sources
}
