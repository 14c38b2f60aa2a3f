import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { paused } from '../../support/scenario-tools.ts'
import { sayThen, steers, toolStarted } from '../../support/watch-turn.ts'

const work = paused()

export default {
  title: 'loop 17.95: a steer that names another turn interrupts nothing and expires',
  cast: () => ({ tools: [work.tool], replies: [calls('paused.work'), answers('Done.')] }),
  act: async (stage) =>
    void (await sayThen(stage, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await steers('Stop!', { turnId: 'turn_0_aaaaaa' })(stage)
        work.finish()
      },
    })),
} satisfies Scenario
