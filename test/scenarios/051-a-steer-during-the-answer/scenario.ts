import { answers } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { answering, sayThen, steers } from '../../support/watch-turn.ts'

const begun = answers('Rome was founded, as legend has it, by two brothers').replace(/<\/channel:answer>$/, '')

export default {
  title: 'a steer cuts the answer short; what the user has read of it is shown to the model together with the steer',
  cast: () => ({ replies: [{ text: begun, chunks: 40, stall: true as const }, answers('Founded 753 BC.')] }),
  act: async (stage) => void (await sayThen(stage, 'Tell me about Rome.', { when: answering, act: steers('One line, please.') })),
  prompt: true,
} satisfies Scenario
