import { reply, scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answering, runTurnWith, steerWith } from '../../support/watch-turn.ts'

const replies = () => [
  { text: '<channel:thinking>A title', stall: true as const },
  { text: reply.answer('Rome was founded').replace(/<\/channel:answer>$/, ''), chunks: 40, stall: true as const },
  reply.answer('A short answer.'),
]

export default {
  title: 'a steer interrupts the first decision and not the call for the title; the turn does not wait long for the title',
  channelsOnly: 'it has a model of its own',
  setup: () => ({ replies: [], model: scriptedModel(replies(), { title: null }), settings: { titleWaitMs: 20 } }),
  run: async (harness) => void (await runTurnWith(harness, 'Write a long answer.', { when: answering, act: steerWith('Keep it short.') })),
  prompt: true,
} satisfies Scenario
