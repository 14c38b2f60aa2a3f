import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { pausedTool } from '../../support/scenario-tools.ts'
import { answered, runTurnWith, toolStarted } from '../../support/watch-turn.ts'

const work = pausedTool()

export default {
  title:
    'loop 17.97: a service alert is read in the running turn and adds no round; an event published after the answer is read in the next turn',
  setup: () => ({
    settings: { exitGraceMs: 20 },
    tools: [work.tool],
    replies: [reply.call('paused.work'), reply.answer('Done.'), reply.answer('Published, as it seems.')],
  }),
  run: async (harness) => {
    const { agent, conversationId } = harness
    const alert = () => agent.notify(conversationId, 'Search is slow today.', { source: 'status' })
    const published = () => agent.notify(conversationId, 'Published as version 3.', { source: 'workspace', eventId: 'publish-3' })
    await runTurnWith(
      harness,
      'Do it.',
      {
        when: toolStarted,
        act: async () => {
          await alert()
          work.finish()
        },
      },
      { when: answered, act: published },
    )
    await published() // the same event is delivered again
    expect(harness.model.left).toBe(1)
    await harness.say('Is it out?')
  },
  prompt: true,
} satisfies Scenario
