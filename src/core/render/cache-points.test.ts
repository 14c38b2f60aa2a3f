import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blockOrigin, call, completion, header, ofUnknownType, result, rounds, withIds } from '../../testing/blocks.ts'
import { attachmentBlocks, type Block, type Draft, feedbackBlock, userEventBlock } from '../block/index.ts'
import { createRoundNumbers, roundsOf } from '../timeline/timeline.ts'
import { type CachePolicy, cachePoints, defaultCachePolicy, frozenUntil } from './cache-points.ts'
import type { Slice } from './types.ts'

/**
 * A slice in which every draft is shown as one part. Cache points depend only on the order and type of blocks, so the content does not
 * matter.
 */
function sliceOfDrafts(drafts: readonly Draft[], currentTurn: string): Slice {
  const blocks = withIds(drafts)
  const start = blocks.findIndex((block) => block.type === 'turn.header' && block.turn_id === currentTurn)
  const roundOf = createRoundNumbers()
  const shown = blocks.map((block: Block) => ({ block, parts: [{ type: 'text' as const, text: block.type }], round: roundOf(block) }))
  let over = 0
  const roundEnds = roundsOf(blocks).map(({ end }) => {
    over = Math.max(over, end)
    return over
  })
  return { shown, turnStart: start === -1 ? undefined : start, roundEnds }
}

const R = (count: number) => sliceOfDrafts(rounds(count), 't1')
const draftsP = (before: number, now: number) => [...rounds(before, 't1'), completion('done', 't1'), ...rounds(now, 't2')]
const P = (before: number, now: number) => sliceOfDrafts(draftsP(before, now), 't2')
const marks = (slice: Slice, policy: Partial<CachePolicy> = {}) => cachePoints(slice, { ...defaultCachePolicy, ...policy }).marks

describe('the three points', () => {
  it.each([
    [0, [1]],
    [1, [3]],
    [2, [3, 5]],
    [3, [3, 7]],
    [5, [3, 11]],
    [6, [5, 13]],
    [7, [7, 15]],
    [12, [17, 25]],
  ])('with %i rounds in the first turn the marks are %j', (count, expected) => {
    expect(marks(R(count))).toEqual(expected)
  })

  it('timeline 11.49: after a turn of 2 rounds, a turn with 1 round has marks at 3, 6 and 10', () => {
    expect(cachePoints(P(2, 1), defaultCachePolicy)).toEqual({ prevTurn: 6, preTail: 3, tail: 10, userInput: undefined, marks: [3, 6, 10] })
  })

  it('timeline 11.50: after a turn of 2 rounds, a turn with 3 rounds has marks at 5, 6 and 14', () => {
    expect(marks(P(2, 3))).toEqual([5, 6, 14])
  })

  it('timeline 11.51: after a turn of 2 rounds, a turn with 6 rounds has marks at 6, 12 and 20', () => {
    expect(marks(P(2, 6))).toEqual([6, 12, 20])
  })

  it('timeline 11.52: after a hide in the turn a later pre-tail point replaces the point of the previous turn', () => {
    const hid = (slice: Slice) => cachePoints(slice, defaultCachePolicy, { hasHidden: true })
    expect(hid(P(2, 6))).toEqual({ prevTurn: undefined, preTail: 12, tail: 20, userInput: undefined, marks: [12, 20] })
    expect(hid(P(2, 3)).marks).toEqual([5, 6, 14])
    expect(hid(P(2, 0)).marks).toEqual([3, 6, 8])
  })

  it('timeline 11.53: a single turn of 3 rounds has marks at 5 and 7 with offsetRounds 1, and only at 7 with minRounds 4', () => {
    expect(marks(R(3), { offsetRounds: 1 })).toEqual([5, 7])
    expect(marks(R(3), { minRounds: 4 })).toEqual([7])
  })

  it('treats settings below 1 as 1', () => {
    expect(marks(R(3), { offsetRounds: 0 })).toEqual(marks(R(3), { offsetRounds: 1 }))
    expect(marks(R(3), { offsetRounds: -7 })).toEqual(marks(R(3), { offsetRounds: 1 }))
    expect(marks(R(1), { minRounds: 0 })).toEqual([3])
    expect(marks(R(2), { minRounds: -1 })).toEqual(marks(R(2), { minRounds: 1 }))
  })

  it('timeline 11.55: a block that only opens a round moves no mark', () => {
    const opened = ofUnknownType('react.round.start', header())
    expect(marks(sliceOfDrafts([...rounds(3), opened], 't1'))).toEqual(marks(R(3)))
  })

  it('marks nothing when nothing is shown', () => {
    expect(cachePoints({ shown: [], turnStart: undefined, roundEnds: [] }, defaultCachePolicy).marks).toEqual([])
  })

  it('has no previous turn when the header is first, or when the slice has none', () => {
    expect(cachePoints(R(2), defaultCachePolicy).prevTurn).toBeUndefined()
    expect(cachePoints(sliceOfDrafts(draftsP(2, 2), 't3'), defaultCachePolicy)).toMatchObject({ prevTurn: undefined, marks: [3, 12] })
  })
})

describe('groups and rounds', () => {
  it('never falls inside a path group: the point moves to the last of the blocks that follow with the same path', () => {
    const late = { ...result('t1c0', 'more of it', 't1', 0), call_id: 'stray', meta: {} }
    const slice = sliceOfDrafts([...rounds(1), late, late, call('b', 'x', 't1', 1), result('b', 'y', 't1', 1)], 't1')
    expect(cachePoints({ ...slice, roundEnds: [3, 7] }, defaultCachePolicy)).toMatchObject({ preTail: 5, tail: 7 })
  })

  it('never falls inside a round either, where a path group reaches into the next one', () => {
    const again = { ...result('t1c0', 'again', 't1', 1), path: 'tc:t1.t1c0.result' }
    const drafts = [...rounds(1), again, result('b', 'b', 't1', 1), ...rounds(3).slice(6)]
    expect(cachePoints(sliceOfDrafts(drafts, 't1'), defaultCachePolicy).preTail).toBe(5)
  })

  it('blocks without a path are not a group', () => {
    const pathless: Draft = { ...header(), type: 'stage.gate' }
    const slice = sliceOfDrafts([...rounds(1), pathless, pathless], 't1')
    expect(cachePoints({ ...slice, roundEnds: [4] }, defaultCachePolicy).tail).toBe(4)
  })

  it('counts twelve calls of one response as one round', () => {
    const calls = Array.from({ length: 12 }, (_, i) => call(`c${i}`, 'web_tools.web_fetch', 't1', 0))
    const results = Array.from({ length: 12 }, (_, i) => result(`c${i}`, 'page', 't1', 0))
    expect(marks(sliceOfDrafts([...rounds(0), ...calls, ...results], 't1'))).toEqual([25])
  })

  it('waits for the slower of two imported calls whose results crossed', () => {
    const imported = (draft: Draft): Draft => ({ ...draft, meta: {} })
    const crossed = [call('a'), call('b'), result('b', 'second'), result('a', 'first')].map(imported)
    expect(cachePoints(sliceOfDrafts([...rounds(0), ...crossed], 't1'), defaultCachePolicy)).toMatchObject({ tail: 5, marks: [5] })
  })
})

describe('user input', () => {
  it('is marked until the turn has a round of its own', () => {
    expect(cachePoints(P(2, 0), defaultCachePolicy)).toEqual({ prevTurn: 6, preTail: 3, tail: 6, userInput: 8, marks: [3, 6, 8] })
    expect(cachePoints(P(2, 1), defaultCachePolicy).userInput).toBeUndefined()
  })

  it('is marked after its attachments, not after the output of the gate', () => {
    const file = attachmentBlocks('t2', '2026-01-01T00:00:00.000Z', {
      name: 'a.pdf',
      mime: 'application/pdf',
      size_bytes: 9,
      blob: { sha256: 'f', size: 9 },
    })
    const gate: Draft = { ...header('t2'), type: 'stage.gate', path: 'ar:t2.stage.gate' }
    expect(marks(sliceOfDrafts([...draftsP(2, 0), ...file, gate], 't2'))).toEqual([3, 6, 10])
  })

  it('is not marked when the setting is off', () => {
    expect(marks(P(2, 0), { markUserInput: false })).toEqual([3, 6])
  })

  it('is marked in addition to the tail when it comes during a turn; the earliest point is dropped', () => {
    const followup = (turnId: string) => userEventBlock('followup', turnId, '2026-01-01T00:00:00.000Z', { messageId: 'm', text: 'and' })
    const early = cachePoints(sliceOfDrafts([...draftsP(2, 1), followup('t2')], 't2'), defaultCachePolicy)
    expect(early).toEqual({ prevTurn: 6, preTail: 3, tail: 10, userInput: 11, marks: [6, 10, 11] })
    const late = cachePoints(sliceOfDrafts([...draftsP(2, 6), followup('t2')], 't2'), defaultCachePolicy)
    expect(late).toEqual({ prevTurn: 6, preTail: 12, tail: 20, userInput: 21, marks: [12, 20, 21] })
    expect(marks(sliceOfDrafts([...rounds(3), followup('t1')], 't1'))).toEqual([3, 7, 8])
    expect(marks(sliceOfDrafts([...draftsP(2, 6), followup('t2')], 't2'), { markUserInput: false })).toEqual([6, 12, 20])
  })

  it('replaces a tail that lies before the end of the previous turn', () => {
    const feedback = feedbackBlock('t1', '2026-01-01T00:00:00.000Z', { text: 'good', origin: 'user' })
    const drafts = [...rounds(2), completion('done'), feedback, ...rounds(0, 't2')]
    expect(cachePoints(sliceOfDrafts(drafts, 't2'), defaultCachePolicy)).toMatchObject({ prevTurn: 7, tail: 6, marks: [3, 7, 9] })
  })
})

/** One step of a turn: a round with some calls, or a followup. With `crossed`, the results come in the reverse order of the calls. */
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('round' as const), calls: fc.integer({ min: 1, max: 4 }), crossed: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'followup' as const }) },
)
const steps = fc.array(step, { maxLength: 14 })
const policies = fc.record({
  minRounds: fc.integer({ min: -1, max: 6 }),
  offsetRounds: fc.integer({ min: -1, max: 6 }),
  markUserInput: fc.boolean(),
})

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
function draftsOf(happened: readonly Step[], turnId: string): readonly Draft[] {
  return happened.flatMap((what, iteration) => {
    if (what.kind === 'followup') {
      return [userEventBlock('followup', turnId, blockOrigin('', turnId, iteration).ts, { messageId: `m${iteration}`, text: 'and' })]
    }
    const ids = Array.from({ length: what.calls }, (_, i) => `${turnId}i${iteration}c${i}`)
    const results = ids.map((id) => result(id, 'r', turnId, iteration))
    return [...ids.map((id) => call(id, 'x', turnId, iteration)), ...(what.crossed ? results.reverse() : results)]
  })
}

describe('for any timeline', () => {
  it('there are at most 3 marks, ascending, each on a block that is shown', () => {
    const counts = { tails: 0, frozen: 0 }
    fc.assert(
      fc.property(steps, steps, policies, fc.boolean(), (before, now, policy, hidHappened) => {
        const drafts = [...rounds(0), ...draftsOf(before, 't1'), ...rounds(0, 't2'), ...draftsOf(now, 't2')]
        const slice = sliceOfDrafts(drafts, 't2')
        const points = cachePoints(slice, policy, { hasHidden: hidHappened })
        expect(points.marks.length).toBeLessThanOrEqual(3)
        expect(points.marks).toEqual([...new Set(points.marks)].sort((a, b) => a - b))
        expect(points.marks.every((mark) => mark >= 0 && mark < slice.shown.length)).toBe(true)
        expect(points.marks).toContain(points.userInput ?? points.tail)
        if (points.tail !== undefined && points.tail > (points.prevTurn ?? -1)) {
          counts.tails++
          expect(points.marks).toContain(points.tail)
        }
        if (frozenUntil(points) !== -1) {
          counts.frozen++
          expect(points.marks).toContain(frozenUntil(points))
        }
        expect(frozenUntil(points)).toBeLessThanOrEqual(points.marks.at(-1) ?? -1)
      }),
    )
    expect(Math.min(counts.tails, counts.frozen)).toBeGreaterThan(20)
  })

  it('no point moves backwards while a turn grows', () => {
    fc.assert(
      fc.property(steps, steps, policies, (before, now, policy) => {
        const past = [...rounds(0), ...draftsOf(before, 't1'), ...rounds(0, 't2')]
        const grown = now.map((_, count) => cachePoints(sliceOfDrafts([...past, ...draftsOf(now.slice(0, count + 1), 't2')], 't2'), policy))
        for (const [index, points] of grown.entries()) {
          const previous = grown[index - 1] ?? points
          expect(points.tail).toBeGreaterThanOrEqual(previous.tail as number)
          expect(points.preTail ?? -1).toBeGreaterThanOrEqual(previous.preTail ?? -1)
          expect(points.prevTurn).toBe(previous.prevTurn)
        }
      }),
    )
  })
})
