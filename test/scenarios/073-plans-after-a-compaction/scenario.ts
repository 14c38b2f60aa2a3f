import { expect } from 'vitest'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import { contextWithRoom } from '../../support/context-room.ts'
import type { Scenario } from '../../support/scenario.ts'
import { weather } from '../../support/scenario-tools.ts'

const long = 'It was a long story, and every word of it counted. '.repeat(400)

export default {
  title: 'a plan carried over a compaction keeps its id, its marks and its place as the current one; the history lists it',
  cast: () => ({
    settings: { contextTokens: contextWithRoom(14_478), keepRecentTurns: 1, decision: { maxTokens: 1_000, temperature: 0 } },
    tools: [weather()],
    replies: [
      calls('react.plan', { mode: 'new', steps: ['Read it', 'Judge it'] }),
      calls('weather.today', { city: 'Rome' }, { notes: '✓ [1] read' }),
      answers(long),
      answers(long),
      '## Goal\nTo judge a story.\n\n## Done\nIt was read.',
      calls('weather.today', { city: 'Rome' }, { notes: '… [2] judging' }),
      answers('Judged.'),
    ],
  }),
  act: async (stage) => {
    await stage.say('Plan it.')
    await stage.say('Tell me more.')
    await stage.say('And now?')
    expect((await stage.journal()).some(({ type }) => type === 'range.compacted')).toBe(true)
    const shown = JSON.stringify(stage.model.requests.at(-1)?.parts)
    const [id] = /plan:turn_\w+:\w+/.exec(JSON.stringify(await stage.journal())) ?? []
    expect(shown).toContain(`[COMPACTED PLAN HISTORY]\\n- plan #1 id=${id} (unfinished)`)
    expect(shown).toContain(`plan_id=${id} (current)`)
  },
} satisfies Scenario
