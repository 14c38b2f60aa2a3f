import { describe, expect, it } from 'vitest'
import { codesOf } from '../../../test/support/watch-turn.ts'
import { readPlan } from '../../core/block/index.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'

const plansOf = async (harness: Harness) => blocksOf(await harness.timeline()).flatMap((block) => readPlan(block) ?? [])

describe('react.plan', () => {
  it('tools 18.70: a new plan replaces the current one, and a step number that it does not have is ignored', async () => {
    const harness = createHarness({
      replies: [
        reply.call('react.plan', { mode: 'new', steps: ['a', 'b', 'c'] }),
        reply.call('react.plan', { mode: 'new', steps: ['x', 'y', 'z'] }),
        reply.call('react.read', { paths: [] }, { notes: '✓ [9] done\n✓ [1] done' }),
        reply.answer('Done.'),
      ],
    })
    await harness.say('Plan.')
    const plans = await plansOf(harness)
    const second = plans.at(-1)
    expect(plans.map(({ plan_id, current }) => [plan_id === second?.plan_id, current])).toEqual([
      [false, true],
      [false, false],
      [true, true],
      [true, true],
    ])
    expect(second?.status).toEqual({ '1': 'done' })
  })

  it('the default mode is new; closing a plan leaves a notice in the timeline', async () => {
    const harness = createHarness({
      replies: [
        reply.call('react.plan', { steps: ['a'] }),
        ({ parts }) => reply.call('react.plan', { mode: 'close', plan_id: /plan:turn_\w+:\w{8}/.exec(JSON.stringify(parts))?.[0] }),
        reply.answer('Done.'),
      ],
    })
    await harness.say('Plan.')
    expect((await plansOf(harness)).map(({ current, closed_ts }) => [current, closed_ts !== undefined])).toEqual([
      [true, false],
      [false, true],
    ])
    expect(await codesOf(harness)).toEqual(['plan_closed'])
  })

  it('tools 18.71: closing an unknown plan fails the call, and the turn continues', async () => {
    const harness = createHarness({ replies: [reply.call('react.plan', { mode: 'close', plan_id: 'nowhere' }), reply.answer('Then not.')] })
    expect(await harness.say('Close it.')).toMatchObject({ exitReason: 'complete', answer: 'Then not.' })
    expect(await codesOf(harness)).toEqual(['protocol_violation.plan_target_missing'])
  })
})
