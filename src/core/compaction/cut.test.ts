import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { journals } from '../../../test/support/generators/changes.ts'
import { compact, finish, open, plan, shownTokens, summaryOf, ten, turn, turns } from '../../../test/support/prompts/compaction.ts'
import { timelineOf } from '../../../test/support/prompts/timelines.ts'
import { callIdOf } from '../block/index.ts'
import { applyChange } from '../timeline/apply.ts'
import { blocksOf, emptyTimeline, type Timeline } from '../timeline/timeline.ts'
import { startedReport } from './finish.ts'

describe('the trigger', () => {
  it('timeline 11.83: exactly at the limit nothing is compacted, and the slice is not read', () => {
    const never = () => {
      throw new Error('not needed')
    }
    expect(plan(ten, { limit: 3000, systemTokens: 1000, renderedTokens: 2000, slice: never })).toBeUndefined()
  })

  it('timeline 11.84: one token above the limit, one compaction is started and completed', () => {
    const planned = plan(ten, { limit: 2000, systemTokens: 1, renderedTokens: 2000 })
    if (!planned) throw new Error('no plan')
    const finished = finish(ten, planned)
    expect([startedReport(planned).status, finished.status]).toEqual(['started', 'completed'])
    expect(finished.report).toMatchObject({
      compaction_id: startedReport(planned).compaction_id,
      kind: 'history',
      trigger_reason: 'over_limit',
    })
    expect(finished.report.after_tokens).toBeLessThan(finished.report.before_tokens)
    expect(finished.report.compacted_tokens).toBe(finished.report.before_tokens - (finished.report.after_tokens ?? 0))
  })

  it('is scaled by what the provider billed for the previous call', () => {
    const at = (calibration: number) => plan(ten, { limit: 4000, renderedTokens: 3000, calibration })?.kind
    expect([at(1), at(1.3), at(1.4)]).toEqual([undefined, undefined, 'history'])
  })

  it('counts the tails: their tokens are not available for turns', () => {
    const shown = shownTokens(ten)
    expect(plan(ten, { limit: shown + 100, renderedTokens: shown + 101 })).toBeDefined()
  })
})

it('the compacted prompt fits, including system text, tails and calibration', () => {
  const numRuns = 100
  let compactions = 0
  fc.assert(
    fc.property(
      fc.record({ systemTokens: fc.nat(1000), tails: fc.nat(1500), calibration: fc.constantFrom(0.8, 1, 1.5), keepRecentTurns: fc.nat(8) }),
      fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 3, maxLength: 12 }),
      ({ systemTokens, tails, calibration, keepRecentTurns }, sizes) => {
        const limit = 6000
        const drafts = [...sizes.flatMap((rounds, i) => turn(i + 1, rounds)), ...open(sizes.length + 1, 3)]
        const total = (timeline: Timeline) => (systemTokens + tails + shownTokens(timeline)) * calibration
        const before = timelineOf(drafts)
        const planned = plan(before, { limit, systemTokens, calibration, keepRecentTurns, renderedTokens: tails + shownTokens(before) })
        expect(planned !== undefined).toBe(total(before) > limit)
        if (!planned) return
        compactions++
        const finished = finish(before, planned)
        if (finished.status === 'skipped') throw new Error(finished.reason)
        expect(total(finished.changes.reduce(applyChange, before))).toBeLessThanOrEqual(limit)
      },
    ),
    { numRuns },
  )
  expect(compactions).toBeGreaterThan(numRuns / 10)
})

describe('the cut', () => {
  const cutBlock = (timeline: Timeline, options = {}) => {
    const planned = plan(timeline, options)
    return planned?.history?.range.retained[0]
  }

  it('timeline 11.85: the retained blocks begin with a header, never with a result', () => {
    for (let limit = 400; limit < 3000; limit += 100) expect(['turn.header', undefined]).toContain(cutBlock(ten, { limit })?.type)
    expect(cutBlock(ten)?.type).toBe('turn.header')
  })

  it('timeline 11.86: an older turn that contains the cut is summarised whole', () => {
    const { timeline } = compact(ten)
    const covered = summaryOf(timeline).meta?.covered_turn_ids as readonly string[]
    expect(summaryOf(timeline).meta).not.toHaveProperty('split_turn_id')
    expect(covered.length).toBeGreaterThan(0)
    for (const block of blocksOf(timeline, 1)) expect(covered).not.toContain(block.turn_id)
  })

  it('keeps the recent turns whole when that leaves room, otherwise a share of the budget', () => {
    const recent = shownTokens(timelineOf([...turns(6, 10), ...open(11)]))
    const lastGone = (limit: number) => plan(ten, { limit, keepRecentTurns: 6, renderedTokens: 1e9 })?.history?.range.turnIds.at(-1)
    // A small context reserves 30 % for the summary and keeps 40 % of the remaining tokens.
    const share = 0.7 * 0.4
    expect(lastGone(Math.ceil(recent / share) + 1)).toBe('t5')
    expect(lastGone(Math.floor(recent / share) - 60)).toBe('t6')
  })

  it('a timeline with a single turn gets a checkpoint, not a summary', () => {
    expect(plan(timelineOf(open(1, 20, 100)))?.kind).toBe('current_turn_prefix')
  })

  it('history and the beginning of a long turn are compacted together', () => {
    const timeline = timelineOf([...turns(1, 3), ...open(4, 20, 100)])
    const planned = plan(timeline)
    expect(planned?.kind).toBe('history_with_split_turn')
    expect(planned?.history?.range.retained[0]).toMatchObject({ type: 'turn.header', turn_id: 't4' })
    expect(startedReport(planned as NonNullable<typeof planned>)).toMatchObject({ split_turn: true, current_turn: 't4' })
  })

  it('never separates a call from its results and never summarises the current turn, for any timeline', () => {
    const numRuns = 80
    const counts = { planned: 0, finished: 0 }
    const imported = journals().map((changes) => changes.reduce(applyChange, emptyTimeline()))
    const ordinary = fc
      .array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 8 })
      .map((sizes) => timelineOf([...sizes.flatMap((rounds, i) => turn(i + 1, rounds)), ...open(sizes.length + 1, 6)]))
    fc.assert(
      fc.property(
        fc.oneof(imported, ordinary),
        fc.integer({ min: 10, max: 3000 }),
        fc.boolean(),
        fc.constantFrom(1 as const, 2 as const, 3 as const),
        (timeline, limit, force, attempt) => {
          const before = structuredClone(blocksOf(timeline))
          const planned = plan(timeline, { limit, attempt, ...(force && { force: true }) })
          expect(blocksOf(timeline)).toEqual(before)
          if (!planned) return
          counts.planned++
          const range = planned.history?.range.blocks ?? []
          expect(range.filter(({ turn_id, meta }) => turn_id === planned.currentTurnId && !meta?.preserved_by_compaction)).toEqual([])
          const finished = finish(timeline, planned)
          expect(blocksOf(timeline)).toEqual(before)
          if (finished.status === 'skipped') return
          counts.finished++
          const after = finished.changes.reduce(applyChange, timeline)
          expect(shownTokens(after)).toBeLessThan(shownTokens(timeline))
        },
      ),
      { numRuns },
    )
    expect(counts.planned).toBeGreaterThan(numRuns / 10)
    expect(counts.finished).toBeGreaterThan(numRuns / 20)
  })

  it('keeps every call with its results in realistic histories', () => {
    const numRuns = 100
    let compactions = 0
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 100, max: 3000 }),
        (sizes, limit) => {
          const timeline = timelineOf([...sizes.flatMap((rounds, i) => turn(i + 1, rounds)), ...open(sizes.length + 1, 6)])
          const planned = plan(timeline, { limit, force: true })
          if (!planned) return
          compactions++
          const folded = new Set(planned.prefix?.ids ?? [])
          const gone = new Set(planned.history?.range.blocks.map(({ id }) => id))
          const groups = new Map<string, Set<string>>()
          for (const block of blocksOf(timeline)) {
            const callId = callIdOf(block)
            if (callId === undefined) continue
            const where = gone.has(block.id) ? 'gone' : folded.has(block.id) ? 'folded' : 'kept'
            groups.set(callId, (groups.get(callId) ?? new Set()).add(where))
          }
          for (const [callId, places] of groups) expect([callId, places.size]).toEqual([callId, 1])
        },
      ),
      { numRuns },
    )
    expect(compactions).toBeGreaterThan(numRuns / 2)
  })
})
