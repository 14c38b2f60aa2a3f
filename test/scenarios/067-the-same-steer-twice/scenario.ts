import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow } from '../../support/scenario-tools.ts'
import { sayThen, steers, toolStarted } from '../../support/watch-turn.ts'

const steer = steers('Never mind.', { eventId: 'mine' })

export default {
  title: 'loop 17.94: a steer delivered again, waiting or long folded, has no effect',
  cast: () => ({ tools: [slow()], replies: [calls('slow.work'), calls('slow.work'), answers('Done.')] }),
  act: async (stage) => {
    const { agent, conversation } = stage
    await sayThen(
      stage,
      'Do it.',
      { when: toolStarted, act: () => Promise.all([steer(stage), steer(stage)]) },
      {
        when: toolStarted,
        act: async () => {
          await steer(stage) // it would stop the tool if it had an effect
          expect((await stage.timeline()).inbox).toEqual([])
          await agent.steer(conversation, 'Stop that.', { eventId: 'another' })
        },
      },
    )
  },
} satisfies Scenario
