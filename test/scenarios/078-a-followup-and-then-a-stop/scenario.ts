import { expect } from 'vitest'
import type { Harness } from '../../../src/testing/harness.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { slowTool } from '../../support/scenario-tools.ts'
import { answered, answering, runTurnWith, toolStarted } from '../../support/watch-turn.ts'

const unfinished = reply.answer('The house is').replace(/<\/channel:answer>$/, '')

/** Sends a followup and a stop before the turn can read the followup. */
const followUpAndStop = ({ agent, conversationId }: Harness) =>
  Promise.all([agent.send(conversationId, 'And the garden?'), agent.stop(conversationId)])

export default {
  title: 'a followup sent before a stop belongs to the stopped turn and never starts another one, in every state of the turn',
  channelsOnly: 'the interrupted reply is shown as it was written',
  setup: () => ({
    tools: [slowTool()],
    settings: { exitGraceMs: 60_000 },
    replies: [
      reply.call('slow.work'),
      { text: unfinished, stall: true },
      reply.answer('The house is blue.'),
      reply.answer('Never asked for.'),
    ],
  }),
  run: async (harness) => {
    const stopped = 'I stopped as you asked. What was done so far is kept.'
    const states = [
      { when: toolStarted, kept: stopped },
      { when: answering, kept: 'The house is' },
      { when: answered, kept: stopped },
    ]
    for (const { when, kept } of states) {
      const { exitReason, answer } = await runTurnWith(harness, 'Which colour has the house?', { when, act: followUpAndStop })
      expect([exitReason, answer]).toEqual(['steer', kept])
    }
    await harness.agent.drain(5_000)
    expect(harness.model.left).toBe(1)
  },
} satisfies Scenario
