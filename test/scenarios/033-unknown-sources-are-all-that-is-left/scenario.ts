import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'
import { laneText } from '../../support/watch-turn.ts'

export default {
  title: 'a final call that only cites missing sources counts as no answer: the fixed text is used',
  setup: () => ({
    tools: [weather()],
    settings: { maxRounds: 1 },
    replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('[[S:99]]')],
  }),
  run: async (harness) => {
    const { exitReason, answer, events } = await harness.say('How is Rome?')
    expect(exitReason).toBe('max_iterations')
    expect(answer).toMatch(/^I reached the step limit/)
    expect(laneText(events, 'answer')).toBe(answer)
  },
} satisfies Scenario
