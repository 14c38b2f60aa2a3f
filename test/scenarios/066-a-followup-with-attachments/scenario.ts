import { reply } from '../../../src/testing/scripted-model.ts'
import { png } from '../../support/sample-files/images.ts'
import type { Scenario } from '../../support/scenario.ts'
import { pausedTool } from '../../support/scenario-tools.ts'
import { runTurnWith, sendWith, toolStarted } from '../../support/watch-turn.ts'

const work = pausedTool()
const list = { name: 'list.csv', mime: 'text/csv', content: 'name,price\n' }
const photo = { name: 'photo.png', content: png() }

export default {
  title: 'the attachments of a followup are stored under unused names, and citable ones get a source number',
  setup: () => ({ tools: [work.tool], replies: [reply.call('paused.work'), reply.answer('Seen.')] }),
  run: async (harness) =>
    void (await runTurnWith(harness, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await sendWith('Here is the list.', { attachments: [list, photo] })(harness)
        await sendWith('A better one.', { attachments: [list] })(harness)
        work.finish()
      },
    })),
  prompt: true,
} satisfies Scenario
