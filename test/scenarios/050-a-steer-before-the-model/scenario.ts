import { answers, scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { entered, sayThen, steers } from '../../support/watch-turn.ts'

const replies = () => [{ text: '<channel:thinking>A title', stall: true as const }, answers('A short answer.')]

export default {
  title: 'a steer while the conversation is being named does not wait for the name, and the first decision knows of it',
  cast: () => ({ replies: [], model: scriptedModel(replies(), { title: null }) }),
  act: async (stage) =>
    void (await sayThen(stage, 'Write a long answer.', { when: entered('blocks.appended'), act: steers('Keep it short.') })),
  prompt: true,
} satisfies Scenario
