import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow } from '../../support/scenario-tools.ts'
import { sayThen, steers, toolStarted } from '../../support/watch-turn.ts'

const note = { path: 'files/found.md', channel: 'canvas', content: 'Nothing yet.', kind: 'file' }

export default {
  title: 'loop 17.92: asked to wrap up, the agent may still write a file, then answers',
  cast: () => ({ tools: [slow()], replies: [calls('slow.work'), calls('react.write', note), answers('I wrote down what I had.')] }),
  act: async (stage) => {
    const { exitReason } = await sayThen(stage, 'Research it.', { when: toolStarted, act: steers('Please wrap up.', { mode: 'wrap_up' }) })
    expect([exitReason, stage.model.requests.at(-1)?.maxTokens]).toEqual(['steer', 3000])
  },
  prompt: true,
} satisfies Scenario
