import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool } from '../../support/scenario-tools.ts'
import { runTurnWith, steerWith, toolStarted } from '../../support/watch-turn.ts'

const note = { path: 'files/found.md', channel: 'canvas', content: 'Nothing yet.', kind: 'file' }

export default {
  title: 'loop 17.92: asked to wrap up, the agent may still write a file, then answers',
  setup: () => ({
    tools: [slowTool()],
    replies: [reply.call('slow.work'), reply.call('react.write', note), reply.answer('I wrote down what I had.')],
  }),
  run: async (harness) => {
    const { exitReason } = await runTurnWith(harness, 'Research it.', {
      when: toolStarted,
      act: steerWith('Please wrap up.', { mode: 'wrap_up' }),
    })
    expect([exitReason, harness.model.requests.at(-1)?.maxTokens]).toEqual(['steer', 3000])
  },
  prompt: true,
} satisfies Scenario
