import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Block, readNotice } from '../../src/core/block/index.ts'
import { rewriteSids } from '../../src/core/citations/sids.ts'
import { responseViolations } from '../../src/core/decision/violations.ts'
import type { LaneEvent, TurnEvent } from '../../src/core/event.ts'
import { blocksOfTurn } from '../../src/core/timeline/timeline.ts'
import { createHarness, type Harness, type RecordedTurn } from '../../src/testing/harness.ts'
import { defineTool } from '../../src/tools/define.ts'
import { brokenReply, secret } from '../support/generators/broken-replies.ts'
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

/**
 * The deltas whose number is not the next number of their lane. If a model call is repeated or a lane starts again, the number 0 is
 * allowed.
 */
function gapsIn(events: readonly TurnEvent[]): readonly string[] {
  const next = new Map<string, number>()
  const gaps: string[] = []
  for (const { iteration, attempt, delta } of deltasOf(events)) {
    if (delta.extra) continue // the state of a program always has the index 0
    const lane = `${iteration} ${attempt} ${delta.marker} ${delta.artifact_name}`
    if (delta.index !== 0 && delta.index !== next.get(lane)) gaps.push(`${lane} ${delta.index}`)
    next.set(lane, delta.index + 1)
  }
  return gaps
}

/** The text of each lane with this marker, by round. If the model was called several times in a round, the last call counts. */
function lanesByRound(events: readonly TurnEvent[], marker: string) {
  const lanes = new Map<string, { readonly iteration: number; readonly attempt: number; text: string; last: LaneEvent['delta'] }>()
  for (const { iteration, attempt, delta } of deltasOf(events, marker)) {
    const key = `${iteration} ${delta.artifact_name}`
    const known = lanes.get(key)
    const text = known?.attempt === attempt && delta.index !== 0 ? known.text + delta.text : delta.text
    lanes.set(key, { iteration, attempt, text, last: delta })
  }
  return [...lanes.values()]
}

/** All texts that users saw, one per lane, with its pieces joined. */
function shownTexts(events: readonly TurnEvent[]): readonly string[] {
  const lanes = Object.groupBy(deltasOf(events), ({ iteration, delta }) => `${iteration} ${delta.marker} ${delta.artifact_name}`)
  return Object.values(lanes).map((deltas = []) => deltas.map(({ delta }) => delta.text).join(''))
}

const brokenOff = new Set(['service_interrupted', 'service_error'])
const refused = new Set(responseViolations.map((code) => `protocol_violation.${code}`))

/**
 * Checks that an answer that was shown is stored as an answer of the turn. A file that was shown but not written must be shown as aborted.
 */
function expectKept(events: readonly TurnEvent[], blocks: readonly Block[], counts: { answers: number; refused: number }): void {
  const codesIn = (round: number) => blocks.flatMap((block) => (block.meta?.iteration === round ? (readNotice(block)?.code ?? []) : []))
  for (const { iteration, text } of lanesByRound(events, 'answer')) {
    if (codesIn(iteration).some((code) => brokenOff.has(code))) continue
    const kept = blocks.filter(({ type, meta }) => type.startsWith('assistant.completion') && meta?.iteration === iteration)
    expect(kept.map((block) => rewriteSids(block.text ?? '', new Map()).trim())).toContain(text.trim())
    counts.answers++
  }
  for (const { iteration, last } of lanesByRound(events, 'canvas')) {
    if (!codesIn(iteration).some((code) => refused.has(code))) continue
    expect(last).toMatchObject({ completed: true, aborted: true })
    counts.refused++
  }
}

/** Ten thousand replies in all. Each batch has 250 conversations of five replies, so that a failure is reported after its batch. */
const batches = 8
const conversations = 250
const replies = 5

describe('with any model output', () => {
  it.each(Array.from({ length: batches }, (_, batch) => batch + 1))(
    'every turn ends with an answer and a closed turn (batch %i)',
    async (batch) => {
      const ends = new Map<string, number>()
      const counts = { answers: 0, refused: 0 }
      await fc.assert(
        fc.asyncProperty(fc.array(brokenReply, { minLength: replies, maxLength: replies }), async (script) => {
          const harness = createHarness({ replies: script, tools, settings: { maxRounds: 3 } })
          while (harness.model.left > 0) {
            const turn = await harness.say('Do it.')
            ends.set(turn.exitReason, (ends.get(turn.exitReason) ?? 0) + 1)
            await expectAnswered(harness, turn, counts)
          }
        }),
        { numRuns: conversations, seed: batch },
      )
      expect([...ends.keys()].sort()).toEqual(expect.arrayContaining(['complete', 'error', 'max_iterations', 'protocol_violation']))
      expect(counts.answers).toBeGreaterThan(conversations / 2)
      expect(counts.refused).toBeGreaterThan(0)
    },
    120_000,
  )
})

async function expectAnswered(harness: Harness, turn: RecordedTurn, counts: Parameters<typeof expectKept>[2]): Promise<void> {
  expect(turn.error === undefined || turn.error.cause !== undefined).toBe(true) // every error comes from the provider, not from Daybook
  expect(turn.answer.trim()).not.toBe('')
  expect(laneText(turn.events, 'answer').trim()).not.toBe('')
  expect(gapsIn(turn.events)).toEqual([])
  expect(shownTexts(turn.events).filter((text) => text.includes(secret))).toEqual([])
  expect(turn.answer).not.toContain(secret)

  const timeline = await harness.timeline()
  expect(timeline.openTurn).toBeUndefined()
  const blocks = blocksOfTurn(timeline, turn.turnId)
  expectKept(turn.events, blocks, counts)
  const called = blocks.filter(({ type }) => type === 'react.tool.call').map(({ call_id }) => call_id)
  const answered = new Set(blocks.filter(({ type }) => type === 'react.tool.result').map(({ call_id }) => call_id))
  expect(called.filter((callId) => !answered.has(callId))).toEqual([])
  expect(blocks.find(({ type }) => type === 'user.prompt')?.text).toBe('Do it.')
  const written = blocks.findLast(({ type }) => type === 'assistant.completion')?.text ?? ''
  expect(rewriteSids(written, new Map())).toBe(turn.answer) // the conversation has no sources, so no citation stays
}
