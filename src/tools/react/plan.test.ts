import { describe, expect, it } from 'vitest'
import { codesOf } from '../../../test/support/watch-turn.ts'
import { readPlan } from '../../core/block/index.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { answers, calls } from '../../testing/scripted-model.ts'

const plansOf = async (stage: Harness) => blocksOf(await stage.timeline()).flatMap((block) => readPlan(block) ?? [])

describe('react.plan', () => {
  it('tools 18.70: a new plan takes the place of the current one, and a step that it does not have is not done', async () => {
    const stage = createHarness({
      replies: [
        calls('react.plan', { mode: 'new', steps: ['a', 'b', 'c'] }),
        calls('react.plan', { mode: 'new', steps: ['x', 'y', 'z'] }),
        calls('react.read', { paths: [] }, { notes: '✓ [9] done\n✓ [1] done' }),
        answers('Done.'),
      ],
    })
    await stage.say('Plan.')
    const plans = await plansOf(stage)
    const second = plans.at(-1)
    expect(plans.map(({ plan_id, current }) => [plan_id === second?.plan_id, current])).toEqual([
      [false, true],
      [false, false],
      [true, true],
      [true, true],
    ])
    expect(second?.status).toEqual({ '1': 'done' })
  })

  it('without a mode a plan is new; closing one is mentioned to whoever looks at the timeline', async () => {
    const stage = createHarness({
      replies: [
        calls('react.plan', { steps: ['a'] }),
        ({ parts }) => calls('react.plan', { mode: 'close', plan_id: /plan:turn_\w+:\w{8}/.exec(JSON.stringify(parts))?.[0] }),
        answers('Done.'),
      ],
    })
    await stage.say('Plan.')
    expect((await plansOf(stage)).map(({ current, closed_ts }) => [current, closed_ts !== undefined])).toEqual([
      [true, false],
      [false, true],
    ])
    expect(await codesOf(stage)).toEqual(['plan_closed'])
  })

  it('tools 18.71: closing a plan that nobody knows is an error of the call, and the turn goes on', async () => {
    const stage = createHarness({ replies: [calls('react.plan', { mode: 'close', plan_id: 'nowhere' }), answers('Then not.')] })
    expect(await stage.say('Close it.')).toMatchObject({ exitReason: 'complete', answer: 'Then not.' })
    expect(await codesOf(stage)).toEqual(['protocol_violation.plan_target_missing'])
  })
})
