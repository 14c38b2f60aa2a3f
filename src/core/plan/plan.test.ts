import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { minute } from '../../testing/blocks.ts'
import { type Block, type Draft, type Plan, planBlock } from '../block/index.ts'
import type { Json, JsonObject } from '../json.ts'
import { applyChange } from '../timeline/apply.ts'
import { assignIds, blocksOf, emptyTimeline, type Timeline } from '../timeline/timeline.ts'
import { changePlan, makePlanId, type PlanMoment } from './plan-change.ts'
import { currentPlan, openPlans, parseAcks, planById, planState, plansOf, readRoundAcks } from './plans.ts'

const at = (n: number): PlanMoment => ({ turnId: 't1', ts: minute(n), newId: makePlanId('t1', String(n).padStart(8, '0')) })
const id = (n: number) => at(n).newId
const written = (timeline: Timeline, drafts: readonly Draft[]): Timeline =>
  applyChange(timeline, { type: 'blocks.appended', blocks: assignIds(timeline, drafts) })
const keep = (timeline: Timeline, plans: readonly Plan[]): Timeline =>
  written(
    timeline,
    plans.map((plan) => planBlock('t1', plan.last_ts ?? '', plan)),
  )

/** Makes a `react.plan` call. Returns the change and the timeline after the change. */
function call(timeline: Timeline, n: number, params: JsonObject) {
  const change = changePlan(timeline, params, at(n))
  if (!change.ok) throw new Error(change.violation.message)
  return { change, timeline: keep(timeline, change.snapshots) }
}
const refused = (timeline: Timeline, params: JsonObject) => {
  const change = changePlan(timeline, params, at(50))
  return change.ok ? 'accepted' : change.violation
}
const steps = ['search', 'read', 'write']
const one = call(emptyTimeline(), 1, { mode: 'new', steps }).timeline
const two = call(one, 2, { mode: 'new', steps: ['other'] }).timeline

const fresh = {
  plan_id: id(1),
  steps,
  status: {},
  current: true,
  created_ts: minute(1),
  last_ts: minute(1),
  origin_turn_id: 't1',
  last_turn_id: 't1',
}

describe('react.plan', () => {
  it('new: makes a plan current', () => {
    expect(plansOf(one)).toEqual([fresh])
    expect(currentPlan(one)).toEqual(fresh)
  })

  it('new: first makes the previous plan no longer current', () => {
    const { change } = call(one, 2, { mode: 'new', steps: ['other'] })
    expect(change.snapshots.map(({ plan_id, current, last_ts }) => [plan_id, current, last_ts])).toEqual([
      [id(1), false, minute(2)],
      [id(2), true, minute(2)],
    ])
    expect(openPlans(two).map(({ plan_id }) => plan_id)).toEqual([id(1), id(2)])
  })

  it('activate: makes an earlier plan current again', () => {
    const { change, timeline } = call(two, 3, { mode: ' Activate ', plan_id: id(1) })
    expect(change).toMatchObject({ planId: id(1), targetPlanId: id(1) })
    expect(change.snapshots.map(({ plan_id, current }) => [plan_id, current])).toEqual([
      [id(2), false],
      [id(1), true],
    ])
    expect(currentPlan(timeline)).toEqual({ ...fresh, last_ts: minute(3) })
    expect(call(timeline, 4, { mode: 'activate', plan_id: id(1) }).change.snapshots).toEqual([{ ...fresh, last_ts: minute(4) }])
  })

  it('replace: supersedes the target, then the current plan loses its flag, then the new plan is created', () => {
    const { change, timeline } = call(two, 3, { mode: 'replace', plan_id: `ar:plan.latest:${id(1)}`, steps: ['better'] })
    expect(change.snapshots.map(({ plan_id, current }) => [plan_id, current])).toEqual([
      [id(1), false],
      [id(2), false],
      [id(3), true],
    ])
    expect(change.snapshots[0]).toMatchObject({ superseded_ts: minute(3), superseded_turn_id: 't1', superseded_by_plan_id: id(3) })
    expect(openPlans(timeline).map(({ plan_id }) => plan_id)).toEqual([id(2), id(3)])
    expect(planState(planById(timeline, id(1)) as Plan)).toBe('superseded')
  })

  it('close: makes no other plan current', () => {
    const { timeline } = call(two, 3, { mode: 'close', plan_id: id(2) })
    expect(planById(timeline, id(2))).toMatchObject({ closed_ts: minute(3), closed_turn_id: 't1', current: false })
    expect(openPlans(timeline).map(({ plan_id }) => plan_id)).toEqual([id(1)])
    expect(currentPlan(timeline)).toBeUndefined()
  })

  it('accepts steps with labels, and drops blank ones', () => {
    const { timeline } = call(emptyTimeline(), 1, { mode: 'new', steps: [{ n: 1, label: ' a\nb ' }, '  ', 'c'] })
    expect(currentPlan(timeline)?.steps).toEqual(['a b', 'c'])
  })
})

describe('react.plan rejects, without any change,', () => {
  it('loop 17.86: the activation of an unknown plan', () => {
    const notice = refused(two, { mode: 'activate', plan_id: 'plan:t9:none' })
    expect(notice).toEqual({
      code: 'protocol_violation.plan_target_missing',
      message: `The plan "plan:t9:none" is unknown: only an open plan can be named with mode "activate". No plan was changed. Open plans: ${id(1)}, ${id(2)}.`,
      mode: 'activate',
      plan_id: 'plan:t9:none',
      state: 'unknown',
    })
    expect(currentPlan(two)?.plan_id).toBe(id(2))
  })

  it('a target that is no longer open', () => {
    const closed = call(one, 2, { mode: 'close', plan_id: id(1) }).timeline
    expect(refused(closed, { mode: 'replace', plan_id: id(1), steps: ['x'] })).toMatchObject({
      code: 'protocol_violation.plan_target_missing',
      state: 'closed',
    })
    expect(refused(closed, { mode: 'close', plan_id: id(1) })).toMatchObject({
      message: expect.stringContaining('There is no open plan: use mode "new".'),
    })
  })

  it.each<[JsonObject, string]>([
    [{}, 'plan_mode'],
    [{ mode: 'delete' }, 'plan_mode'],
    [{ mode: 7 }, 'plan_mode'],
    [{ mode: 'new' }, 'plan_steps'],
    [{ mode: 'new', steps: [] }, 'plan_steps'],
    [{ mode: 'new', steps: [' '] }, 'plan_steps'],
    [{ mode: 'new', steps: 'one' }, 'plan_steps'],
    [{ mode: 'new', steps: ['one', 2] }, 'plan_steps'],
    [{ mode: 'new', steps: Array.from({ length: 51 }, () => 'x') }, 'plan_steps'],
    [{ mode: 'replace', plan_id: id(1) }, 'plan_steps'],
    [{ mode: 'replace', steps: ['x'] }, 'plan_target_required'],
    [{ mode: 'activate', plan_id: ' ' }, 'plan_target_required'],
    [{ mode: 'close', plan_id: 3 }, 'plan_target_required'],
  ])('%j: %s', (params, code) => {
    expect(refused(one, params)).toMatchObject({ code: `protocol_violation.${code}` })
  })

  it('invalid parameters without throwing', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('mode', 'plan_id', 'steps', 'x'), fc.jsonValue()), (params) => {
        expect(typeof changePlan(two, params as { [key: string]: Json }, at(9)).ok).toBe('boolean')
      }),
    )
  })
})

describe('open plans', () => {
  it('are read from the newest snapshots, also from hidden and preserved ones', () => {
    const done = keep(one, [{ ...fresh, status: { '1': 'done', '2': 'failed', '3': 'done' } }])
    expect([openPlans(done), currentPlan(done)]).toEqual([[], undefined])
    const hidden = applyChange(done, { type: 'blocks.hidden', ids: ['b_2'], replacement_text: 'x', reason: 'cache_ttl' })
    expect(openPlans(hidden)).toEqual([])
    const preserved = blocksOf(two).map((block): Block => ({ ...block, type: 'react.plan.preserved' }))
    const compacted = applyChange(two, { type: 'range.compacted', after_id: 'b_3', blocks: preserved, covered: ['t1'] })
    expect(currentPlan(compacted)?.plan_id).toBe(id(2))
  })

  it('do not change for an earlier timeline value when the timeline grows', () => {
    const early = call(emptyTimeline(), 1, { mode: 'new', steps }).timeline
    const later = call(early, 2, { mode: 'close', plan_id: id(1) }).timeline
    expect([openPlans(later), openPlans(early).length, openPlans(later).length]).toEqual([[], 1, 0])
  })

  it('have one current plan: the one changed last, and of equal times the greater id', () => {
    const twin = (plan_id: string, last_ts: string): Plan => ({ ...fresh, plan_id, last_ts })
    expect(currentPlan(keep(emptyTimeline(), [twin('b', minute(2)), twin('a', minute(3))]))?.plan_id).toBe('a')
    expect(currentPlan(keep(emptyTimeline(), [twin('b', minute(2)), twin('a', minute(2))]))?.plan_id).toBe('b')
  })
})

describe('acknowledgements', () => {
  const round = (timeline: Timeline, notes: string, toolId = 'web_tools.web_search') =>
    readRoundAcks(timeline, { notes, toolId }, { turnId: 't1', ts: minute(5) })

  it('loop 17.82: change a status once; repeating them changes nothing', () => {
    const acks = round(one, 'Looking.\n✓ [1] A')
    expect(acks).toEqual({
      changes: [{ step: 1, status: 'done' }],
      text: '✓ 1. search',
      plan: {
        ...fresh,
        status: { '1': 'done' },
        last_ts: minute(5),
        last_turn_id: 't1',
        last_ack_ts: minute(5),
        last_ack_turn_id: 't1',
      },
      warnings: [],
    })
    expect(round(keep(one, [acks?.plan as Plan]), 'Looking.\n✓ [1] A')).toEqual({ changes: [], text: '', warnings: [] })
  })

  it('loop 17.83: are not read in a round that changes plans', () => {
    expect(round(one, '✓ [1] A', 'react.plan')).toBeUndefined()
  })

  it('loop 17.85: complete a plan whose steps are all finished; no other plan becomes current', () => {
    const all = round(two, '✓ 1') as { plan: Plan }
    const done = keep(two, [all.plan])
    expect(openPlans(done).map(({ plan_id }) => plan_id)).toEqual([id(1)])
    expect([currentPlan(done), round(done, '✓ [1] search')]).toEqual([undefined, undefined])
  })

  it('may be written in several ways', () => {
    const wide: Plan = { ...fresh, steps: Array.from({ length: 12 }, (_, i) => `s${i + 1}`), status: { '6': 'done' } }
    const notes = ['✓ [1] a', '  ✗ 2. b', '…3: c', '... 4) d', '… 5', '□ 6', '✓️ [ 12 ]', 'then ✓ 7', '✓ 8th', '✓ nine', '- ✓ 10'].join('\n')
    expect(parseAcks(notes, wide, at(6)).text).toBe(
      ['✓ 1. s1', '✗ 2. s2', '… 3. s3 — in progress', '… 4. s4 — in progress', '… 5. s5 — in progress', '□ 6. s6', '✓ 12. s12'].join('\n'),
    )
    expect(parseAcks(notes, wide, at(6)).plan?.status).toEqual({
      '1': 'done',
      '2': 'failed',
      '3': 'in_progress',
      '4': 'in_progress',
      '5': 'in_progress',
      '12': 'done',
    })
  })

  it('use the last of two marks for a step', () => {
    expect(parseAcks('… 1\n✓ 1', fresh, at(6)).changes).toEqual([{ step: 1, status: 'done' }])
  })

  it('of unknown steps are ignored with a warning', () => {
    const acks = parseAcks('✓ [4] x\n✓ 0\n✓ 99999999999999999999', fresh, at(6))
    expect(acks).toMatchObject({
      changes: [],
      text: '',
      warnings: [{ code: 'protocol_warning.plan_ack_unknown_step', plan_id: id(1), steps: [0, 4, 999999999], step_count: 3 }],
    })
  })

  it('are read from any text without an error', () => {
    const piece = fc.oneof(fc.constantFrom('✓', '✗', '…', '□', '...', '[', ']', '1', '2.', '\n', ' ', '\uFE0F'), fc.string())
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const acks = parseAcks(pieces.join(''), fresh, at(6))
        expect(acks.changes.every(({ step }) => step >= 1 && step <= 3)).toBe(true)
        expect(acks.plan === undefined).toBe(acks.changes.length === 0)
      }),
    )
  })
})
