import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'
import { laneText } from '../../support/watch-turn.ts'

export default {
  title: 'a last call that only cites sources that do not exist has not answered: fixed words do',
  cast: () => ({
    tools: [weather()],
    settings: { maxRounds: 1 },
    replies: [calls('weather.today', { city: 'Rome' }), answers('[[S:99]]')],
  }),
  act: async (stage) => {
    const { exitReason, answer, events } = await stage.say('How is Rome?')
    expect(exitReason).toBe('max_iterations')
    expect(answer).toMatch(/^I reached the step limit/)
    expect(laneText(events, 'answer')).toBe(answer)
  },
} satisfies Scenario
