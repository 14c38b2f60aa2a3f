import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { pausedTool } from '../../support/scenario-tools.ts'
import { runTurnWith, sendWith, toolStarted } from '../../support/watch-turn.ts'

const work = pausedTool()

export default {
  title: 'loop 17.88: a followup during a tool is folded after it, adds a round, and the next decision sees it',
  setup: () => ({ tools: [work.tool], replies: [reply.call('paused.work'), reply.answer('Both done.')] }),
  run: async (harness) =>
    void (await runTurnWith(harness, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await sendWith('And the other thing, too.')(harness)
        work.finish()
      },
    })),
  prompt: true,
} satisfies Scenario
