import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { Scenario } from '../../support/scenario.ts'
import { search } from '../../support/scenario-tools.ts'
import { deltasOf, laneText } from '../../support/watch-turn.ts'

export default {
  title: 'loop 17.55: an answer that only cites missing sources is blank: it is rejected and was not shown to the user',
  channelsOnly: 'the notice about an empty answer differs',
  setup: () => ({
    tools: [search()],
    replies: [
      reply.call('web_tools.web_search', { query: 'doors' }),
      reply.answer('[[S:99]] [[S:7,8]]'),
      reply.answer('Doors are red [[S:1]].'),
    ],
  }),
  run: async (harness) => {
    const { answer, events } = await harness.say('Which colour are doors?')
    expect(answer).toBe('Doors are red [[S:1]].')
    expect(laneText(events, 'answer')).toMatch(/^Doors are red \[.+\]\(.+\)\.$/)
    // no text of the empty answer was shown
    expect(new Set(deltasOf(events, 'answer').map(({ iteration }) => iteration))).toEqual(new Set([2]))
  },
  prompt: true,
} satisfies Scenario
