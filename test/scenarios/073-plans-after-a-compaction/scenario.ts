import { expect } from 'vitest'
import { reply } from '../../../src/testing/scripted-model.ts'
import { contextWithRoom } from '../../support/context-size.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const long = 'It was a long story, and every word of it counted. '.repeat(400)

export default {
  title: 'a plan keeps its id, its marks and its place as the current plan across a compaction; the history lists it',
  channelsOnly: 'the system text has another size, so other turns are compacted',
  setup: () => ({
    settings: { contextTokens: contextWithRoom(10_900), keepRecentTurns: 1, decision: { maxTokens: 1_000, temperature: 0 } },
    tools: [weather()],
    replies: [
      reply.call('react.plan', { mode: 'new', steps: ['Read it', 'Judge it'] }),
      reply.call('weather.today', { city: 'Rome' }, { notes: '✓ [1] read' }),
      reply.answer(long),
      reply.answer(long),
      '## Goal\nTo judge a story.\n\n## Done\nIt was read.',
      reply.call('weather.today', { city: 'Rome' }, { notes: '… [2] judging' }),
      reply.answer('Judged.'),
    ],
  }),
  run: async (harness) => {
    await harness.say('Plan it.')
    await harness.say('Tell me more.')
    await harness.say('And now?')
    expect((await harness.journal()).some(({ type }) => type === 'range.compacted')).toBe(true)
    const shown = JSON.stringify(harness.model.requests.at(-1)?.parts)
    const [id] = /plan:turn_\w+:\w+/.exec(JSON.stringify(await harness.journal())) ?? []
    expect(shown).toContain(`[COMPACTED PLAN HISTORY]\\n- plan #1 id=${id} (unfinished)`)
    expect(shown).toContain(`plan_id=${id} (current)`)
  },
} satisfies Scenario
