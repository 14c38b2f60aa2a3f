import { expect } from 'vitest'
import { blocksOf } from '../../../src/core/timeline/timeline.ts'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'

export default {
  title: 'tools 18.22: an internal file is a note for the agent: it is shown to it in the next turn, and never handed over',
  cast: () => ({
    replies: [
      calls('react.write', {
        path: 'files/memory.md',
        channel: 'internal',
        content: '[P] Answers in one line.\n[D] Doors are counted once.',
        kind: 'file',
      }),
      answers('Noted.'),
      answers('As you like it.'),
    ],
  }),
  act: async (stage) => {
    await stage.say('I like short answers.')
    await stage.say('Do you remember?')
  },
  prompt: true,
  check: async (stage) => expect(blocksOf(await stage.timeline()).some(({ meta }) => meta?.rn !== undefined)).toBe(false),
} satisfies Scenario
