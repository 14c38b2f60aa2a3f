import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { rewriteSids } from '../../src/core/citations/sids.ts'
import { blocksOfTurn } from '../../src/core/timeline/timeline.ts'
import { createHarness, type Harness, type RecordedTurn } from '../../src/testing/harness.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { brokenNativeReply } from '../support/generators/broken-native-replies.ts'
import { weather } from '../support/scenario-tools.ts'
import { deltasOf } from '../support/watch-turn.ts'

const exec = defineTool({
  id: 'sample.exec',
  description: 'Runs code.',
  params: z.object({ contract: z.array(z.object({ filename: z.string(), description: z.string() })) }),
  exec: true,
  run: (_, { code = '' }) => code.length,
})
const tools = [weather(), exec]

/** Ten thousand replies in all. */
const batches = 8
const conversations = 250
const replies = 5

describe('with any native output of a model', () => {
  it.each(Array.from({ length: batches }, (_, batch) => batch + 1))(
    'every turn ends with an answer and a closed turn (batch %i)',
    async (batch) => {
      const ends = new Map<string, number>()
      const counts = { calls: 0, refused: 0, notes: 0 }
      await fc.assert(
        fc.asyncProperty(fc.array(brokenNativeReply, { minLength: replies, maxLength: replies }), async (script) => {
          const model = scriptedModel(script, { dialect: 'native' })
          const harness = createHarness({ replies: [], model, tools, settings: { maxRounds: 3 } })
          while (model.left > 0) {
            const turn = await harness.say('Do it.')
            ends.set(turn.exitReason, (ends.get(turn.exitReason) ?? 0) + 1)
            await expectAnswered(harness, turn, counts)
          }
        }),
        { numRuns: conversations, seed: batch },
      )
      expect([...ends.keys()].sort()).toEqual(expect.arrayContaining(['complete', 'error', 'max_iterations']))
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(conversations / 10)
    },
    120_000,
  )
})

async function expectAnswered(
  harness: Harness,
  turn: RecordedTurn,
  counts: { calls: number; refused: number; notes: number },
): Promise<void> {
  expect(turn.error === undefined || turn.error.cause !== undefined).toBe(true) // every error comes from the provider, not from Daybook
  expect(turn.answer.trim()).not.toBe('')
  expect(turn.answer).not.toContain('<tool_call>')
  const timeline = await harness.timeline()
  expect(timeline.openTurn).toBeUndefined()
  const blocks = blocksOfTurn(timeline, turn.turnId)
  const called = blocks.filter(({ type }) => type === 'react.tool.call').map(({ call_id }) => call_id)
  const answered = new Set(blocks.filter(({ type }) => type === 'react.tool.result').map(({ call_id }) => call_id))
  expect(called.filter((callId) => !answered.has(callId))).toEqual([])
  expect(new Set(called).size).toBe(called.length)
  const execCalls = blocks.filter(({ type, text }) => type === 'react.tool.call' && text?.includes('"sample.exec"'))
  for (const { text } of execCalls) expect(text).not.toContain('"program"')
  const written = blocks.findLast(({ type }) => type === 'assistant.completion')?.text ?? ''
  expect(rewriteSids(written, new Map())).toBe(turn.answer)
  counts.calls += called.length
  counts.refused += blocks.filter(({ type, text }) => type === 'react.notice' && text?.includes('protocol_violation')).length
  counts.notes += deltasOf(turn.events).filter(({ delta }) => delta.as === 'notes').length
  expectSaidWhich(turn)
}

/** Every lane of undecided text ends, and its last delta says what the text was. An answer is the answer of the turn or an attempt. */
function expectSaidWhich({ events }: RecordedTurn): void {
  const lanes = Map.groupBy(
    deltasOf(events),
    ({ iteration, attempt, delta }) => `${iteration} ${attempt} ${delta.marker} ${delta.artifact_name}`,
  )
  for (const deltas of lanes.values()) {
    if (!deltas.some(({ delta }) => delta.undecided)) continue
    const last = deltas.at(-1)?.delta
    expect(last).toMatchObject({ completed: true })
    expect(last?.as).toBeDefined()
  }
}
