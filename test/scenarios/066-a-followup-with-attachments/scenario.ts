import { answers, calls } from '../../../src/testing/scripted-model.ts'
import { png } from '../../support/sample-files/images.ts'
import type { Scenario } from '../../support/scenario.ts'
import { paused } from '../../support/scenario-tools.ts'
import { followsUp, sayThen, toolStarted } from '../../support/watch-turn.ts'

const work = paused()
const list = { name: 'list.csv', mime: 'text/csv', content: 'name,price\n' }
const photo = { name: 'photo.png', content: png() }

export default {
  title: 'a followup brings its attachments along, under names that are free, and those that can be cited get a number',
  cast: () => ({ tools: [work.tool], replies: [calls('paused.work'), answers('Seen.')] }),
  act: async (stage) =>
    void (await sayThen(stage, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await followsUp('Here is the list.', { attachments: [list, photo] })(stage)
        await followsUp('A better one.', { attachments: [list] })(stage)
        work.finish()
      },
    })),
  prompt: true,
} satisfies Scenario
