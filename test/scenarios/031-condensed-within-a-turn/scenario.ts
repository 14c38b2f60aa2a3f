import { answers, calls } from '../../../src/testing/scripted-model.ts'
import { contextWithRoom } from '../../support/context-room.ts'
import type { Scenario } from '../../support/scenario.ts'
import { library } from '../../support/scenario-tools.ts'

const page = (number: number) => calls('library.fetch', { page: number }, { notes: `Reading page ${number}.` })
const summary = '## Goal\nThe doors of the street.\n\n## Done\nThe first pages were read: every door is red.'

export default {
  title:
    'a context that fills up in the middle of a turn is condensed there: the prompt and the newest rounds stay, a checkpoint stands for the rest',
  cast: () => ({
    tools: [library()],
    settings: { contextTokens: contextWithRoom(7_478) },
    replies: [page(1), page(2), page(3), summary, page(4), answers('Red, all of them.')],
  }),
  act: async (stage) => void (await stage.say('Read the first four pages.')),
  prompt: true,
} satisfies Scenario
