import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answering, runTurnWith, steerWith } from '../../support/watch-turn.ts'

const unfinished = reply.answer('Rome was founded, as legend has it, by two brothers').replace(/<\/channel:answer>$/, '')

export default {
  title: 'a steer interrupts the answer; the model sees the part that the user has read, together with the steer',
  channelsOnly: 'the interrupted reply is shown as it was written',
  setup: () => ({ replies: [{ text: unfinished, chunks: 40, stall: true as const }, reply.answer('Founded 753 BC.')] }),
  run: async (harness) =>
    void (await runTurnWith(harness, 'Tell me about Rome.', { when: answering, act: steerWith('One line, please.') })),
  prompt: true,
} satisfies Scenario
