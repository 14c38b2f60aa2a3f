import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { pausedTool } from '../../support/scenario-tools.ts'
import { runTurnWith, steerWith, toolStarted } from '../../support/watch-turn.ts'

const work = pausedTool()

export default {
  title: 'loop 17.95: a steer that names another turn interrupts nothing and expires',
  setup: () => ({ tools: [work.tool], replies: [reply.call('paused.work'), reply.answer('Done.')] }),
  run: async (harness) =>
    void (await runTurnWith(harness, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await steerWith('Stop!', { turnId: 'turn_0_aaaaaa' })(harness)
        work.finish()
      },
    })),
} satisfies Scenario
