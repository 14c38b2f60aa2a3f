import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { paused } from '../../support/scenario-tools.ts'
import { answered, sayThen, toolStarted } from '../../support/watch-turn.ts'

const work = paused()

export default {
  title:
    'loop 17.97: a service alert is read in the running turn and earns no round; what was published after the answer is read in the next',
  cast: () => ({
    settings: { exitGraceMs: 20 },
    tools: [work.tool],
    replies: [calls('paused.work'), answers('Done.'), answers('Published, as it seems.')],
  }),
  act: async (stage) => {
    const { agent, conversation } = stage
    const alert = () => agent.notify(conversation, 'Search is slow today.', { source: 'status' })
    const published = () => agent.notify(conversation, 'Published as version 3.', { source: 'workspace', eventId: 'publish-3' })
    await sayThen(
      stage,
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
    await published() // delivered again
    expect(stage.model.left).toBe(1)
    await stage.say('Is it out?')
  },
  prompt: true,
} satisfies Scenario
