import { expect } from 'vitest'
import type { Harness } from '../../../src/testing/harness.ts'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slow } from '../../support/scenario-tools.ts'
import { answered, answering, sayThen, toolStarted } from '../../support/watch-turn.ts'

const begun = answers('The house is').replace(/<\/channel:answer>$/, '')

/** Both before the turn can look at the first of them. */
const thinksBetterOfIt = ({ agent, conversation }: Harness) =>
  Promise.all([agent.followUp(conversation, 'And the garden?'), agent.stop(conversation)])

export default {
  title: 'what was said before a stop was said to the turn that stops: it is part of it and never begins another, whatever was going on',
  cast: () => ({
    tools: [slow()],
    settings: { exitGraceMs: 60_000 },
    replies: [calls('slow.work'), { text: begun, stall: true }, answers('The house is blue.'), answers('Never asked for.')],
  }),
  act: async (stage) => {
    for (const when of [toolStarted, answering, answered]) {
      const { exitReason, answer } = await sayThen(stage, 'Which colour has the house?', { when, act: thinksBetterOfIt })
      expect([exitReason, answer]).toEqual(['steer', 'I stopped as you asked. What was done so far is kept.'])
    }
    await stage.agent.drain(5_000)
    expect(stage.model.left).toBe(1)
  },
} satisfies Scenario
