import { reply, scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { entryOfType, runTurnWith, steerWith } from '../../support/watch-turn.ts'

const replies = () => [{ text: '<channel:thinking>A title', stall: true as const }, reply.answer('A short answer.')]

export default {
  title: 'a steer during the title call does not wait for the title, and the first decision sees it',
  channelsOnly: 'it has a model of its own',
  setup: () => ({ replies: [], model: scriptedModel(replies(), { title: null }) }),
  run: async (harness) =>
    void (await runTurnWith(harness, 'Write a long answer.', { when: entryOfType('blocks.appended'), act: steerWith('Keep it short.') })),
  prompt: true,
} satisfies Scenario
