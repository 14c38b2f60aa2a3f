import { reply } from '../../../src/testing/scripted-model.ts'
import { contextWithRoom } from '../../support/context-size.ts'
import type { Scenario } from '../../support/scenario.ts'
import { library } from '../../support/scenario-tools.ts'

const page = (number: number) => reply.call('library.fetch', { page: number }, { notes: `Reading page ${number}.` })
const summary = '## Goal\nThe doors of the street.\n\n## Done\nThe first pages were read: every door is red.'

export default {
  title: 'a context that fills up during a turn is condensed: the prompt and the newest rounds stay, a checkpoint replaces the rest',
  setup: () => ({
    tools: [library()],
    settings: { contextTokens: contextWithRoom(3_900) },
    replies: [page(1), page(2), page(3), summary, page(4), reply.answer('Red, all of them.')],
  }),
  run: async (harness) => void (await harness.say('Read the first four pages.')),
  prompt: true,
} satisfies Scenario
