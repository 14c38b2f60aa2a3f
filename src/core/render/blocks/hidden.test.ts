import { describe, expect, it } from 'vitest'
import { sliceOf, textsOf } from '../../../../test/support/prompts/shown-blocks.ts'
import { timelineOf, timelineOfBlocks, withChanges, withDrafts } from '../../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, header, minute, prompt, result, rounds, withIds } from '../../../testing/blocks.ts'
import { type Block, type Draft, decisionNotesBlock, noticeBlock, stageBlock } from '../../block/index.ts'
import { blocksAtPath } from '../../timeline/timeline.ts'

describe('hidden blocks', () => {
  const hide = (drafts: readonly Draft[], path: string, replacement_text: string, more: object = {}) => {
    const timeline = timelineOf(drafts)
    const ids = blocksAtPath(timeline, path).map(({ id }) => id)
    return withChanges(timeline, { type: 'blocks.hidden', ids, replacement_text, reason: 'hide', ...more })
  }
  const textOf = (timeline: ReturnType<typeof timelineOf>) => textsOf(sliceOf(timeline).shown.flatMap(({ parts }) => parts))

  it('timeline 11.62: the replacement text is shown in place of the block, with how to read the content', () => {
    const texts = textOf(hide(rounds(6), 'tc:t1.t1c5.result', 'not needed.'))
    expect(texts.at(-1)).toBe('HIDDEN — not needed. Retrieve with react.read(tc:t1.t1c5.result)')
  })

  it('timeline 11.65: a group of three blocks leaves one line', () => {
    const same = [result('c1', 'a'), result('c1', 'b'), result('c1', 'c')]
    const texts = textOf(hide([header(), call('c1'), ...same], 'tc:t1.c1.result', 'three'))
    expect(texts.filter((text) => text.startsWith('HIDDEN'))).toEqual(['HIDDEN — three. Retrieve with react.read(tc:t1.c1.result)'])
    expect(texts).toHaveLength(3)
  })

  it('without a replacement text the line says that content was removed, also for imported groups', () => {
    expect(textOf(hide([header(), result('c1', 'a')], 'tc:t1.c1.result', ' ')).at(-1)).toBe(
      'HIDDEN — content removed. Retrieve with react.read(tc:t1.c1.result)',
    )
    const bare = withIds([header(), result('c1', 'a'), result('c1', 'b')]).map(
      (block): Block => (block.type === 'turn.header' ? block : { ...block, meta: { hidden: true } }),
    )
    expect(textOf(timelineOfBlocks(bare)).slice(1)).toEqual(['HIDDEN — content removed. Retrieve with react.read(tc:t1.c1.result)'])
  })

  it('hiding a later copy changes nothing before it, even if the first replacement text was compacted away', () => {
    const drafts = [result('c1', 'first'), header('t2'), { ...result('c1', 'second', 't2'), path: 'tc:t1.c1.result' }]
    const expired = hide(drafts, 'tc:t1.c1.result', 'both', { reason: 'cache_ttl', scope: 'old_turn' })
    const compacted = withChanges(expired, { type: 'range.compacted', after_id: 'b_1', blocks: [], covered: ['t1'] })
    const copied = withDrafts(compacted, [...rounds(0, 't3'), { ...result('c1', 'again', 't3'), path: 'tc:t1.c1.result' }])
    const hidden = withChanges(copied, {
      type: 'blocks.hidden',
      ids: [`b_${copied.nextBlock - 1}`],
      replacement_text: 'seen',
      reason: 'hide',
    })
    expect(textOf(copied)[1]).toContain('path=tc:t1.c1.result')
    expect(textOf(hidden)).toEqual([...textOf(copied).slice(0, -1), 'HIDDEN — seen. Retrieve with react.read(tc:t1.c1.result)'])
  })

  it('hidden blocks without a path and blocks of a checkpoint are not shown at all', () => {
    const noPath = withIds([{ ...stageBlock('gate', 't1', minute(0), 'x'), path: undefined } as unknown as Draft]).map((block) => ({
      ...block,
      meta: { hidden: true },
    }))
    expect(textOf(timelineOfBlocks(noPath))).toEqual([])
    expect(textOf(hide([header(), result('c1', 'a')], 'tc:t1.c1.result', 'x', { reason: 'compaction' }))).toHaveLength(1)
  })

  it('timeline 11.88: of two checkpoints of a turn only the newer is shown, because it hides the older', () => {
    const checkpoint = (k: number): Draft => ({
      type: 'react.current_turn.compaction_checkpoint',
      author: 'system',
      turn_id: 't1',
      ts: minute(k),
      path: `ar:t1.react.mid_turn.compaction.${k}`,
      text: `[MID-TURN COMPACTION ${k}]`,
    })
    const first = hide([header(), checkpoint(1)], 'ar:t1.react.mid_turn.compaction.1', '', { reason: 'compaction' })
    expect(textOf(withDrafts(first, [checkpoint(2)])).slice(1)).toEqual(['[MID-TURN COMPACTION 2]'])
  })

  it('a new copy of a hidden block is shown as usual', () => {
    const timeline = withDrafts(hide([header(), result('c1', 'old')], 'tc:t1.c1.result', 'gone'), [result('c1', 'new')])
    expect(textOf(timeline).at(-1)).toContain('new')
    expect(textOf(timeline).at(-2)).toContain('HIDDEN — gone')
  })

  it('expired blocks of an old turn are shown as one line each; notes and notices are not shown', () => {
    const old = { reason: 'cache_ttl', scope: 'old_turn' } as const
    const texts = (drafts: readonly Draft[], path: string, text: string) => textOf(hide(drafts, path, text, old)).slice(1)
    expect(texts([header(), prompt('where?')], 'ar:t1.user.prompt', '[TRUNCATED] where?')).toEqual([
      'user: path=ar:t1.user.prompt hint="where?"',
    ])
    expect(texts([header(), call('c1')], 'tc:t1.c1.call', '{}')).toEqual([
      'tool_call: path=tc:t1.c1.call tool=web_tools.web_search call_id=c1 hint="query: c1"',
    ])
    expect(texts([header(), decisionNotesBlock(blockOrigin('c1'), 'hm')], 'ar:t1.react.notes.c1', 'hm')).toEqual([])
    expect(texts([header(), noticeBlock(blockOrigin('c1'), { code: 'x', message: 'm' })], 'tc:t1.c1.notice', 'm')).toEqual([])
  })

  it('an expired search result of a recent turn keeps its heading and its replacement text', () => {
    const recent = hide([header(), call('c1'), result('c1', 'long')], 'tc:t1.c1.result', '{"result":[]}', {
      reason: 'cache_ttl_light',
      scope: 'recent',
    })
    expect(textOf(recent).at(-1)).toBe('[TOOL RESULT c1].pruned web_tools.web_search\nresult_hidden: tc:t1.c1.result\n{"result":[]}')
  })
})
