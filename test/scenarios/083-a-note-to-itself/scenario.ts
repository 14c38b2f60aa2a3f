import { expect } from 'vitest'
import { blocksOf } from '../../../src/core/timeline/timeline.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'tools 18.22: an internal file is a note for the agent: the next turn shows it to the model, and it is never delivered',
  setup: () => ({
    replies: [
      reply.call('react.write', {
        path: 'files/memory.md',
        channel: 'internal',
        content: '[P] Answers in one line.\n[D] Doors are counted once.',
        kind: 'file',
      }),
      reply.answer('Noted.'),
      reply.answer('As you like it.'),
    ],
  }),
  run: async (harness) => {
    await harness.say('I like short answers.')
    await harness.say('Do you remember?')
  },
  prompt: true,
  check: async (harness) => expect(blocksOf(await harness.timeline()).some(({ meta }) => meta?.rn !== undefined)).toBe(false),
} satisfies Scenario
