import { describe, expect, it } from 'vitest'
import {
  compact,
  finish,
  noteDrafts,
  open,
  plan,
  planDraft,
  round,
  shownText,
  summaryOf,
  turns,
  words,
} from '../../../test/support/prompts/compaction.ts'
import { timelineOf, withChanges, withDrafts } from '../../../test/support/prompts/timelines.ts'
import { blockOrigin, completion, minute } from '../../testing/blocks.ts'
import { artifactContentBlock, artifactDigestBlock, isHidden, userEventBlock } from '../block/index.ts'
import { applyChange } from '../timeline/apply.ts'
import type { Change } from '../timeline/change.ts'
import { blocksOf } from '../timeline/timeline.ts'
import { turnLogOf } from '../timeline/turn-log.ts'
import type { CompactionDigest } from './digest.ts'

describe('the checkpoint of a running turn', () => {
  const long = timelineOf(open(1, 20, 60))

  it('replaces the first rounds at the cut; header, request and the last rounds stay', () => {
    const { timeline, changes } = compact(long, {}, 'Looked at twenty things.')
    expect(changes.map(({ type }) => type)).toEqual(['blocks.hidden', 'blocks.inserted'])
    const shown = shownText(timeline)
    expect(shown).toMatch(
      /^\[TURN t1\][^\n]*\n\n\[USER MESSAGE\]\n\[path: ar:t1\.user\.prompt\]\nquestion 1\n\n\[MID-TURN COMPACTION 1\]\nturn_id: t1\n/,
    )
    expect(shown).toContain('semantic_progress:\nLooked at twenty things.')
    expect(shown).toContain(
      '- tool_call_id: t1c15\n  tool: web_tools.web_search\n  call: tc:t1.t1c15.call\n  params: {"query":"t1c15"}\n  result: tc:t1.t1c15.result',
    )
    expect(shown).toContain('[/MID-TURN COMPACTION 1]')
    expect(shown).toContain('result 19 of t1')
    expect(
      blocksOf(timeline)
        .filter(isHidden)
        .every(({ meta }) => meta?.hidden_reason === 'compaction'),
    ).toBe(true)
  })

  it('timeline 11.88: of two checkpoints only the second is shown, and it lists the calls of both', () => {
    const once = compact(long).timeline
    const more = Array.from({ length: 14 }, (_, i) => round('t1', 20 + i, 60)).flat()
    const twice = compact(withDrafts(once, more), { limit: 3000, force: true }).timeline
    const shown = shownText(twice)
    expect(shown).toContain('[MID-TURN COMPACTION 2]')
    expect(shown).not.toContain('[MID-TURN COMPACTION 1]')
    expect(shown).toContain('- tc:t1.t1c0.result | web_tools.web_search')
    const replaced = blocksOf(twice).filter((block) => isHidden(block) && block.type === 'react.tool.call')
    for (const { path } of replaced) expect(shown).toContain(path?.replace('.call', '.'))
    expect(replaced.length).toBeGreaterThan(20)
  })

  it('is made without a summary too, and says that there is none', () => {
    const planned = plan(long) as NonNullable<ReturnType<typeof plan>>
    const finished = finish(long, planned, {})
    if (finished.status === 'skipped') throw new Error(finished.reason)
    expect(shownText(finished.changes.reduce(applyChange, long))).toContain('semantic_progress:\nnone: the summariser gave no text')
  })

  it('keeps notes and the newest state of each plan, and replaces input that is too large', () => {
    const before = timelineOf([
      ...open(1),
      ...noteDrafts('t1', 'n', '[P] metric units'),
      planDraft('p1', ['boil', 'pour'], 't1'),
      planDraft('p1', ['boil', 'pour'], 't1', { status: { '1': 'done' } }),
      userEventBlock('followup', 't1', minute(2), { messageId: 'm1', text: words(10_000) }),
      ...Array.from({ length: 12 }, (_, i) => round('t1', 9 + i, 60)).flat(),
    ])
    const shown = shownText(compact(before).timeline)
    expect(shown).toContain('[P] metric units')
    expect(shown).toContain('✓ 1) boil')
    expect(shown).not.toContain('□ 1) boil')
    expect(shown).toContain('folded_input:\n- ar:t1.external.followup.m1 | word word')
  })

  it('hundreds of calls fit: the newest in full, older ones in one line each, the rest in the turn index', () => {
    const { timeline } = compact(timelineOf(open(1, 300, 60)), { limit: 8000 })
    const checkpoint = blocksOf(timeline).find(({ type }) => type.endsWith('checkpoint'))?.text ?? ''
    expect(checkpoint.length).toBeLessThan(0.3 * 1.5 * 8000 + 1000)
    expect(checkpoint).toMatch(/\.\.\. \d+ earlier calls: react\.read\(\["ar:t1\.react\.turn\.index"\]\)/)
    expect(checkpoint).toMatch(/\n- tc:t1\.t1c\d+\.result \| web_tools\.web_search\n/)
  })

  it('is never cut when it is shown, however large the limit and the input', () => {
    const inputs = Array.from({ length: 200 }, (_, i) =>
      userEventBlock('followup', 't1', minute(2), { messageId: `m${i}`, text: words(12_000) }),
    )
    const before = timelineOf([...open(1), ...inputs, ...Array.from({ length: 900 }, (_, i) => round('t1', 9 + i, 400)).flat()])
    const shown = shownText(compact(before, { limit: 400_000, force: true }, 'word '.repeat(9_000)).timeline)
    expect(shown).toContain('[/MID-TURN COMPACTION 1]')
    expect(shown).toContain('folded_input:\n- ... 1')
    expect(shown).toContain('- ar:t1.external.followup.m199 | word')
    expect(shown).not.toContain('[truncated, ')
  })

  it('lists calls whose results the agent hid, with the replacement text', () => {
    const last = blocksOf(long).findIndex(({ path }) => path === 'tc:t1.t1c0.result')
    const ids = [blocksOf(long)[last]?.id as string]
    const hidden = applyChange(long, { type: 'blocks.hidden', ids, replacement_text: 'nothing of use', reason: 'hide' })
    const shown = shownText(compact(hidden, { limit: 30_000, force: true }).timeline)
    expect(shown).not.toContain('HIDDEN —')
    expect(shown).toContain('result_hint: nothing of use')
  })

  it('repeats the words of every hide in every later checkpoint, whichever block of the path holds them', () => {
    const path = 'fi:t1.files/a.md'
    const file = [
      artifactDigestBlock(blockOrigin('t1c0', 't1', 0), { artifact_path: path, mime: 'text/markdown' }),
      artifactContentBlock(blockOrigin('t1c0', 't1', 0), { path, mime: 'text/markdown', text: words(60), digest: { artifact_path: path } }),
    ]
    const before = timelineOf([...open(1, 2, 60), ...file, ...Array.from({ length: 20 }, (_, i) => round('t1', 2 + i, 60)).flat()])
    const idsAt = (wanted: string) =>
      blocksOf(before)
        .filter((block) => block.path === wanted)
        .map(({ id }) => id)
    const hidden = withChanges(
      before,
      { type: 'blocks.hidden', ids: idsAt('tc:t1.t1c0.result'), replacement_text: 'nothing of use', reason: 'hide' },
      { type: 'blocks.hidden', ids: idsAt(path), replacement_text: 'draft, rejected by Ann', reason: 'hide' },
    )
    const more = (from: number) => Array.from({ length: 30 }, (_, i) => round('t1', from + i, 60)).flat()
    let timeline = compact(hidden).timeline
    for (const from of [22, 52]) timeline = compact(withDrafts(timeline, more(from))).timeline
    const shown = shownText(timeline)
    expect(shown).toContain('[MID-TURN COMPACTION 3]')
    expect(shown).toContain('- tc:t1.t1c0.result | nothing of use')
    expect(shown).toContain(`- ${path} | draft, rejected by Ann`)
    const later = compact(withDrafts(timeline, [completion('Done.', 't1', 9), ...turns(2, 3), ...open(4)]), { limit: 900 })
    const digest = summaryOf(later.timeline).meta?.compaction_digest as CompactionDigest
    const said = new Map(digest.hidden_blocks.map((entry) => [entry.path, entry.replacement_text]))
    expect([said.get('tc:t1.t1c0.result'), said.get(path)]).toEqual(['nothing of use', 'draft, rejected by Ann'])
  })

  it('timeline 11.98: the turn log still holds every block of the turn, and neither checkpoint nor summary', () => {
    const drafts = [...turns(1, 3), ...open(4, 20, 60)]
    const before = timelineOf(drafts)
    const { changes } = compact(before)
    const journal: readonly Change[] = [{ type: 'blocks.appended', blocks: blocksOf(before) }, ...changes]
    expect(changes.map(({ type }) => type)).toEqual(['range.compacted', 'blocks.hidden', 'blocks.inserted'])
    expect(turnLogOf('t4', journal)?.blocks).toEqual(blocksOf(before).filter(({ turn_id }) => turn_id === 't4'))
  })
})
