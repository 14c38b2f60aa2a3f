import { describe, expect, it } from 'vitest'
import {
  compact,
  finish,
  noteDrafts,
  open,
  plan,
  planDraft,
  shownText,
  summaryOf,
  ten,
  turn,
  turns,
  types,
  words,
} from '../../../test/support/prompts/compaction.ts'
import { timelineOf, withDrafts } from '../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, completion, header, minute, result } from '../../testing/blocks.ts'
import { artifactContentBlock, artifactDigestBlock, toolCallBlock, userEventBlock } from '../block/index.ts'
import type { SourceRow } from '../sources/source.ts'
import { applyChange } from '../timeline/apply.ts'
import { resolvePath } from '../timeline/resolve.ts'
import { blocksOf, type Timeline } from '../timeline/timeline.ts'
import type { CompactionDigest } from './digest.ts'

/** With these options all earlier turns are compacted, and the summary is not shortened. */
const roomy = { limit: 20_000, force: true, attempt: 3 } as const

describe('a compaction', () => {
  it('timeline 11.89: an empty summary changes nothing and is reported', () => {
    const before = structuredClone(blocksOf(ten))
    for (const history of [undefined, '', '  \n']) {
      const finished = finish(ten, plan(ten) as NonNullable<ReturnType<typeof plan>>, { history })
      expect(finished).toMatchObject({ status: 'skipped', reason: 'empty_history_summary', report: { status: 'skipped' } })
      expect(finished).not.toHaveProperty('changes')
    }
    expect(blocksOf(ten)).toEqual(before)
  })

  it('is skipped when the context would not become smaller', () => {
    const planned = plan(ten, { limit: 100_000, force: true }) as NonNullable<ReturnType<typeof plan>>
    expect(finish(ten, planned, { history: words(9000) })).toMatchObject({ status: 'skipped', reason: 'no_visible_token_reduction' })
  })

  it('is skipped when the planned blocks are gone', () => {
    const planned = plan(ten) as NonNullable<ReturnType<typeof plan>>
    expect(finish(compact(ten).timeline, planned)).toMatchObject({ status: 'skipped', reason: 'timeline_changed' })
  })

  it('keeps blocks that were appended while the summary was being written', () => {
    const planned = plan(ten) as NonNullable<ReturnType<typeof plan>>
    const grown = withDrafts(ten, [userEventBlock('followup', 't11', minute(99), { messageId: 'm1', text: 'and Rome?' })])
    const finished = finish(grown, planned)
    if (finished.status === 'skipped') throw new Error(finished.reason)
    expect(blocksOf(finished.changes.reduce(applyChange, grown)).at(-1)?.text).toBe('and Rome?')
  })

  it('timeline 11.91: covers the turns of earlier summaries, and the request contains the earlier text', () => {
    const once = compact(timelineOf([...turns(1, 2), ...open(3)]), { limit: 400 }, 'The user likes tea.').timeline
    expect(summaryOf(once).meta?.covered_turn_ids).toEqual(['t1', 't2'])
    const more = withDrafts(once, [completion(words(400), 't3', 3), ...open(4)])
    const planned = plan(more, { limit: 600 })
    expect(planned?.history?.request.user).toContain('<previous-summary>\nThe user likes tea.\n</previous-summary>')
    expect(planned?.history?.request.user).toContain('Update the previous summary')
    const twice = compact(more, { limit: 600 }, 'The user likes tea and toast.').timeline
    expect(summaryOf(twice).meta?.covered_turn_ids).toEqual(['t1', 't2', 't3'])
    expect(summaryOf(twice).meta?.compacted_range_start_ts).toBe(summaryOf(once).meta?.compacted_range_start_ts)
    expect(types(twice).filter((type) => type === 'conv.range.summary')).toHaveLength(1)
  })

  it('timeline 11.92: ten covered turns are shown by the first two, the last two and their number', () => {
    const { timeline } = compact(ten, { limit: 300, keepRecentTurns: 0 })
    expect(shownText(timeline)).toContain('covered_turns: t1, t2, ..., t9, t10 (count=10)')
  })

  it('timeline 11.94: of two preferences at one path only the newer is in the digest', () => {
    const inside = [...noteDrafts('t1', 'n', '[P] short answers'), ...noteDrafts('t1', 'n', '[P] long answers\nwith sources', 'n2')]
    const { timeline } = compact(timelineOf([...turn(1, 3, inside), ...turns(2, 5), ...open(6)]), { limit: 900 })
    const text = summaryOf(timeline).text ?? ''
    expect(text).toContain('[INTERNAL MEMORY DIGEST]\nActive conversation preferences:\n- long answers with sources')
    expect(text).not.toContain('short answers')
    expect(shownText(timeline)).toContain('[INTERNAL NOTE]\n[P] long answers\nwith sources')
  })

  it('timeline 11.95: an artifact is named in the request, in the digest and in the shown summary', () => {
    const digest = {
      artifact_path: 'fi:t1.files/report.pdf',
      mime: 'application/pdf',
      kind: 'file' as const,
      visibility: 'external' as const,
    }
    const inside = [call('pdf1', 'rendering_tools.write_pdf', 't1', 3), artifactDigestBlock(blockOrigin('pdf1', 't1', 3), digest)]
    const before = timelineOf([...turn(1, 2, inside), ...turns(2, 6), ...open(7)])
    const input = plan(before, { limit: 900 })?.history?.request.user ?? ''
    for (const fact of ['fi:t1.files/report.pdf', 'application/pdf', 'pdf1']) expect(input).toContain(fact)
    const { timeline } = compact(before, { limit: 900 })
    expect(summaryOf(timeline).meta?.compaction_digest).toMatchObject({
      artifacts: [
        {
          artifact_path: 'fi:t1.files/report.pdf',
          mime: 'application/pdf',
          tool_call_id: 'pdf1',
          tool_id: 'rendering_tools.write_pdf',
          turn_id: 't1',
        },
      ],
      streamed_artifacts: ['fi:t1.files/report.pdf'],
      written_files: ['fi:t1.files/report.pdf'],
    })
    expect(shownText(timeline)).toContain('- fi:t1.files/report.pdf | application/pdf | file | rendering_tools.write_pdf')
    expect(shownText(timeline)).toContain('<modified-files>\nfi:t1.files/report.pdf\n</modified-files>')
  })

  it('the summary is never cut when it is shown, however long the paths and however scattered the sources', () => {
    const path = (i: number) => `fi:t1.files/${Array.from({ length: 4 }, () => 'd'.repeat(200)).join('/')}/${i}.md`
    const files = Array.from({ length: 60 }, (_, i) => [
      toolCallBlock(blockOrigin(`w${i}`, 't1', i), { toolId: 'react.write', params: { path: path(i) } }),
      artifactDigestBlock(blockOrigin(`w${i}`, 't1', i), { artifact_path: path(i), mime: 'text/markdown' }),
      toolCallBlock(blockOrigin(`r${i}`, 't1', i), { toolId: 'react.read', params: { paths: [path(i + 100)] } }),
      artifactContentBlock(blockOrigin(`r${i}`, 't1', i), {
        path: path(i + 100),
        mime: 'text/plain',
        text: words(10_000),
        digest: { artifact_path: path(i + 100) },
      }),
    ]).flat()
    const rows = Array.from({ length: 4_000 }, (_, i): SourceRow => ({ sid: 2 * i + 1, title: 'x', source_type: 'web' }))
    const drafts = [
      header('t1'),
      ...files,
      ...noteDrafts('t1', 'p', '[P] answer in Latin'),
      completion('a', 't1'),
      ...turns(2, 10),
      ...open(11),
    ]
    const before = { ...timelineOf(drafts), sources: { rows, next_sid: 9_000 } }
    const { timeline } = compact(before, { limit: 120_000, force: true }, words(9_000))
    const shown = shownText(timeline)
    expect(shown).not.toContain('[truncated, ')
    expect(shown).toContain('sources: so:sources_pool[1-7999]\n')
    expect(shown).toContain(`complete_index: ${summaryOf(timeline).path}`)
    expect(shown).toContain('Active conversation preferences:\n- answer in Latin')
    expect(shown).toContain(`... 56 more in ${summaryOf(timeline).path}\n</modified-files>`)
  })

  it('inserts the preserved blocks in a fixed order, and preserves them again the next time', () => {
    const inside = [
      ...noteDrafts('t1', 'n', '[D] use tea'),
      planDraft('p1', ['boil', 'pour'], 't1', { current: true, status: { '1': 'done' } }),
      planDraft('p0', ['old'], 't1', { closed_ts: minute(2) }),
      userEventBlock('followup', 't1', minute(1), { messageId: 'm1', text: 'with milk' }),
    ]
    const once = compact(timelineOf([...turn(1, 2, inside), ...turns(2, 5), ...open(6)]), roomy).timeline
    const preserved = [
      'conv.range.summary',
      'react.note.preserved',
      'user.followup.preserved',
      'react.plan.history',
      'react.plan.preserved',
      'react.plan.preserved',
      'react.plan',
    ]
    expect(types(once).slice(0, 7)).toEqual(preserved)
    expect(types(once)[7]).toBe('turn.header')
    const twice = compact(withDrafts(once, [completion(words(900), 't6', 6), ...open(7)]), roomy).timeline
    expect(types(twice).slice(0, 7)).toEqual(preserved)
    const shown = shownText(twice)
    for (const text of ['[D] use tea', 'with milk', '✓ 1) boil', '□ 2) pour', 'id=p0 (closed)', 'snapshot_ref: ar:plan.latest:p0'])
      expect(shown).toContain(text)
    expect(blocksOf(twice, 1)[0]).toMatchObject({
      path: 'ar:t7.react.note.preserved.1',
      meta: { source_path: 'fi:t1.files/n.md', note_tags: ['D'] },
    })
  })

  it('shortens a very long followup that stays in every prompt, once', () => {
    const followup = userEventBlock('followup', 't1', minute(1), { messageId: 'm1', text: words(2000) })
    const once = compact(timelineOf([...turn(1, 2, [followup]), ...turns(2, 5), ...open(6)]), roomy).timeline
    const kept = (timeline: Timeline) => blocksOf(timeline).find(({ type }) => type === 'user.followup.preserved')?.text
    expect(kept(once)).toMatch(/^word .{3990,4000}\(the whole: react\.read\(\["ar:t1\.external\.followup\.m1"\]\)\)$/)
    expect(kept(compact(withDrafts(once, [completion(words(900), 't6', 6), ...open(7)]), roomy).timeline)).toBe(kept(once))
  })

  it('lists the plan that was changed last first', () => {
    const inside = [
      planDraft('p1', ['boil'], 't1'),
      planDraft('p2', ['bake'], 't1'),
      planDraft('p1', ['boil'], 't1', { status: { '1': 'done' } }),
    ]
    const { timeline } = compact(timelineOf([...turn(1, 2, inside), ...turns(2, 5), ...open(6)]), { limit: 900 })
    expect(shownText(timeline)).toMatch(/- plan #2 id=p1 \(complete\).*\n {2}✓ 1\) boil\n.*\n- plan #1 id=p2 \(unfinished\)/)
  })

  it('does not preserve the active plan when the retained blocks have a newer state of it', () => {
    const inside = [planDraft('p1', ['boil', 'pour'], 't1', { current: true })]
    const before = timelineOf([
      ...turn(1, 2, inside),
      ...turns(2, 5),
      ...open(6),
      planDraft('p1', ['boil', 'pour'], 't6', { current: true, status: { '1': 'done' } }),
    ])
    const { timeline } = compact(before, { limit: 900 })
    expect(blocksOf(timeline).filter(({ type }) => type === 'react.plan')).toHaveLength(1)
  })

  it('keeps the newest 64 preferences and the newest 32 other notes visible, and the rest in the index', () => {
    const preferences = Array.from({ length: 70 }, (_, i) => noteDrafts('t1', `p${i}`, `[P] preference number ${i}`)).flat()
    const others = Array.from({ length: 40 }, (_, i) => noteDrafts('t2', `d${i}`, `[D] decision number ${i}`)).flat()
    const start = timelineOf([...turn(1, 1, preferences), ...turn(2, 1, others), ...turns(3, 5), ...open(6)])
    const once = compact(start, roomy).timeline
    const later = [
      completion(words(900), 't6', 6),
      ...turn(7, 1, noteDrafts('t7', 'last', '[D] the last decision')),
      ...turns(8, 9),
      ...open(10),
    ]
    const twice = compact(withDrafts(once, later), roomy).timeline
    const texts = (kind: string, from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${kind} number ${from + i}`)
    const kept = (timeline: Timeline) => blocksOf(timeline).flatMap(({ type, text }) => (type === 'react.note.preserved' ? [text] : []))
    expect(kept(once)).toEqual([...texts('[P] preference', 6, 70), ...texts('[D] decision', 8, 40)])
    expect(kept(twice)).toEqual([...texts('[P] preference', 6, 70), ...texts('[D] decision', 9, 40), '[D] the last decision'])
    const digest = summaryOf(twice).meta?.compaction_digest as CompactionDigest
    expect(digest.notes.map(({ text }) => text)).toEqual([...texts('[P] preference', 0, 6), ...texts('[D] decision', 0, 9)])
    for (const timeline of [once, twice]) expect(summaryOf(timeline).text?.match(/- preference number/g)).toHaveLength(64)
  })

  it('lists the read files and the changed files, each once', () => {
    const inside = [
      call('r1', 'react.read', 't1', 4),
      {
        ...call('r2', 'react.read', 't1', 4),
        text: JSON.stringify({
          tool_id: 'react.read',
          tool_call_id: 'r2',
          params: { paths: ['fi:t1.files/b.md', 'fi:t1.files/a.md', '/etc/passwd'] },
        }),
      },
      call('w', 'react.write', 't1', 4),
      artifactDigestBlock(blockOrigin('w', 't1', 4), { artifact_path: 'fi:t1.files/a.md' }),
    ]
    const text = summaryOf(compact(timelineOf([...turn(1, 2, inside), ...turns(2, 5), ...open(6)]), { limit: 900 }).timeline).text
    expect(text).toContain('<read-files>\nfi:t1.files/b.md\n</read-files>\n\n<modified-files>\nfi:t1.files/a.md\n</modified-files>')
    expect(text).not.toContain('passwd')
  })

  it('lists the paths of results that are too large for a summary', () => {
    const inside = [call('big', 'web_tools.web_fetch', 't1', 4), result('big', words(10_000), 't1', 4)]
    const text = summaryOf(compact(timelineOf([...turn(1, 2, inside), ...turns(2, 5), ...open(6)]), { limit: 900 }).timeline).text
    expect(text).toContain(
      '<recoverable-tool-results>\n- tc:t1.big.result | tool=web_tools.web_fetch | call_id=big | tokens=12500\n</recoverable-tool-results>',
    )
  })

  it('old notes and old plans stay in the index of every later summary', () => {
    const notes = Array.from({ length: 40 }, (_, i) => noteDrafts('t1', `n${i}`, `[S] fact number ${i}`)).flat()
    const plans = Array.from({ length: 30 }, (_, i) => planDraft(`p${i}`, [`step of ${i}`], 't1', { closed_ts: minute(2) }))
    const first = timelineOf([...turn(1, 1, [...notes, ...plans]), ...turns(2, 5), ...open(6)])
    const once = compact(first, roomy).timeline
    const more = [
      completion(words(900), 't6', 6),
      ...turn(7, 1, Array.from({ length: 20 }, (_, i) => noteDrafts('t7', `m${i}`, `[D] later ${i}`)).flat()),
    ]
    const twice = compact(withDrafts(once, [...more, ...open(8)]), roomy).timeline
    const digest = summaryOf(twice).meta?.compaction_digest as CompactionDigest
    expect(digest.plans.map(({ plan_id }) => plan_id)).toEqual(Array.from({ length: 30 }, (_, i) => `p${i}`))
    expect(digest.notes.map(({ text }) => text)).toEqual(Array.from({ length: 28 }, (_, i) => `[S] fact number ${i}`))
    const journal = { atPath: (path: string) => blocksOf(first).filter((block) => block.path === path), ofTurn: () => [] }
    expect(resolvePath(twice, 'ar:plan.latest:p0', journal)).toMatchObject({ status: 'blocks', from: 'history' })
    expect(shownText(twice)).toContain("... 18 older plans are listed by the summary's path")
  })
})
