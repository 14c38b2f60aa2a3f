import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { paused } from '../../support/scenario-tools.ts'
import { followsUp, sayThen, toolStarted } from '../../support/watch-turn.ts'

const work = paused()

export default {
  title: 'loop 17.88: a followup during a tool is folded in after it, earns a round, and the next decision sees it',
  cast: () => ({ tools: [work.tool], replies: [calls('paused.work'), answers('Both done.')] }),
  act: async (stage) =>
    void (await sayThen(stage, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await followsUp('And the other thing, too.')(stage)
        work.finish()
      },
    })),
  prompt: true,
} satisfies Scenario
