import { reply } from '../../../src/testing/scripted-model.ts'
import { contextWithRoom } from '../../support/context-size.ts'
import type { Scenario } from '../../support/scenario.ts'
import { library } from '../../support/scenario-tools.ts'

const page = (number: number) => reply.call('library.fetch', { page: number })
const summary = '## Goal\nThe doors of the street.\n\n## Done\nPages 1 and 2 were read: every door is red.'

export default {
  title:
    'a context that is full when a turn begins is compacted first: a summary replaces the removed blocks, and old paths can still be read',
  setup: () => ({
    tools: [library()],
    settings: { contextTokens: contextWithRoom(3_900), keepRecentTurns: 1 },
    replies: [page(1), page(2), reply.answer('Both pages speak of red doors.'), summary, page(3), reply.answer('Red, all of them.')],
  }),
  run: async (harness) => {
    await harness.say('Read pages one and two.')
    await harness.say(`Which colour? ${'Tell me exactly. '.repeat(200)}`)
  },
  prompt: true,
} satisfies Scenario
