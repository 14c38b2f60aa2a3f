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

/** Every lane counts its deltas from 0 without a gap; a new attempt at it, and a lane that is begun anew, from 0 again. */
function gapsIn(events: readonly TurnEvent[]): readonly string[] {
  const next = new Map<string, number>()
  const gaps: string[] = []
  for (const { iteration, attempt, delta } of deltasOf(events)) {
    if (delta.extra) continue // the state of a program always has index 0
    const lane = `${iteration} ${attempt} ${delta.marker} ${delta.artifactName}`
    if (delta.index !== 0 && delta.index !== next.get(lane)) gaps.push(`${lane} ${delta.index}`)
    next.set(lane, delta.index + 1)
  }
  return gaps
}

/** Conversations of five replies each, as many turns as they make: ten thousand in all, in batches so that a failure is soon found. */
const batches = 8
const conversations = 250
const replies = 5

describe('whatever a model writes', () => {
  it.each(Array.from({ length: batches }, (_, batch) => batch + 1))(
    'every turn ends with a sentence, and the loop never breaks (batch %i)',
    async (batch) => {
      const ends = new Map<string, number>()
      await fc.assert(
        fc.asyncProperty(fc.array(brokenReply, { minLength: replies, maxLength: replies }), async (script) => {
          const harness = createHarness({ replies: script, tools, settings: { maxRounds: 3 } })
          while (harness.model.left > 0) {
            const said = await harness.say('Do it.')
            ends.set(said.exitReason, (ends.get(said.exitReason) ?? 0) + 1)
            await expectSpoken(harness, said)
          }
        }),
        { numRuns: conversations, seed: batch },
      )
      expect([...ends.keys()].sort()).toEqual(expect.arrayContaining(['complete', 'error', 'max_iterations', 'protocol_violation']))
    },
    120_000,
  )
})

async function expectSpoken(harness: Harness, said: RecordedTurn): Promise<void> {
  expect(said.error === undefined || said.error.cause !== undefined).toBe(true) // a provider's error, never one of ours
  expect(said.answer.trim()).not.toBe('')
  expect(laneText(said.events, 'answer').trim()).not.toBe('')
  expect(gapsIn(said.events)).toEqual([])

  const timeline = await harness.timeline()
  expect(timeline.openTurn).toBeUndefined()
  const blocks = blocksOfTurn(timeline, said.turnId)
  const called = blocks.filter(({ type }) => type === 'react.tool.call').map(({ call_id }) => call_id)
  const answered = new Set(blocks.filter(({ type }) => type === 'react.tool.result').map(({ call_id }) => call_id))
  expect(called.filter((callId) => !answered.has(callId))).toEqual([])
  expect(blocks.find(({ type }) => type === 'user.prompt')?.text).toBe('Do it.')
  const written = blocks.findLast(({ type }) => type === 'assistant.completion')?.text ?? ''
  expect(rewriteSids(written, new Map())).toBe(said.answer) // there are no sources here that it could cite
}
