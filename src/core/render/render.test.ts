import { describe, expect, it } from 'vitest'
import { blob, render, shownTexts, sliceOf, textsOf } from '../../../test/support/prompts/shown-blocks.ts'
import {
  changed,
  opening,
  plainOptions,
  plainPoints,
  timelineOf,
  timelineOfBlocks,
  withDrafts,
} from '../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, completion, header, minute, prompt, result, rounds, withIds } from '../../testing/blocks.ts'
import {
  artifactContentBlock,
  type Block,
  type Draft,
  decisionNotesBlock,
  noticeBlock,
  stageBlock,
  suggestedFollowupsBlock,
} from '../block/index.ts'
import { blocksAtPath, blocksOf } from '../timeline/timeline.ts'
import { createRenderer, type RenderOptions } from './render.ts'
import type { Part } from './types.ts'

describe('hidden blocks', () => {
  const hide = (drafts: readonly Draft[], path: string, replacement_text: string, more: object = {}) => {
    const timeline = timelineOf(drafts)
    const ids = blocksAtPath(timeline, path).map(({ id }) => id)
    return changed(timeline, { type: 'blocks.hidden', ids, replacement_text, reason: 'hide', ...more })
  }
  const textOf = (timeline: ReturnType<typeof timelineOf>) => textsOf(sliceOf(timeline).shown.flatMap(({ parts }) => parts))

  it('timeline 11.62: the given words stand where the block was, and how to get it back', () => {
    const texts = textOf(hide(rounds(6), 'tc:t1.t1c5.result', 'not needed.'))
    expect(texts.at(-1)).toBe('HIDDEN — not needed. Retrieve with react.read(tc:t1.t1c5.result)')
  })

  it('timeline 11.65: a path group of three leaves one line', () => {
    const same = [result('c1', 'a'), result('c1', 'b'), result('c1', 'c')]
    const texts = textOf(hide([header(), call('c1'), ...same], 'tc:t1.c1.result', 'three'))
    expect(texts.filter((text) => text.startsWith('HIDDEN'))).toEqual(['HIDDEN — three. Retrieve with react.read(tc:t1.c1.result)'])
    expect(texts).toHaveLength(3)
  })

  it('without words it says that content was removed, also where no block of an imported group carries any', () => {
    expect(textOf(hide([header(), result('c1', 'a')], 'tc:t1.c1.result', ' ')).at(-1)).toBe(
      'HIDDEN — content removed. Retrieve with react.read(tc:t1.c1.result)',
    )
    const bare = withIds([header(), result('c1', 'a'), result('c1', 'b')]).map(
      (block): Block => (block.type === 'turn.header' ? block : { ...block, meta: { hidden: true } }),
    )
    expect(textOf(timelineOfBlocks(bare)).slice(1)).toEqual(['HIDDEN — content removed. Retrieve with react.read(tc:t1.c1.result)'])
  })

  it('hiding a later copy changes nothing before it, also where the words for the earlier one left with a compaction', () => {
    const drafts = [result('c1', 'first'), header('t2'), { ...result('c1', 'second', 't2'), path: 'tc:t1.c1.result' }]
    const folded = hide(drafts, 'tc:t1.c1.result', 'both', { reason: 'cache_ttl', scope: 'old_turn' })
    const kept = changed(folded, { type: 'range.compacted', after_id: 'b_1', blocks: [], covered: ['t1'] })
    const copied = withDrafts(kept, [...rounds(0, 't3'), { ...result('c1', 'again', 't3'), path: 'tc:t1.c1.result' }])
    const hidden = changed(copied, { type: 'blocks.hidden', ids: [`b_${copied.nextBlock - 1}`], replacement_text: 'seen', reason: 'hide' })
    expect(textOf(copied)[1]).toContain('path=tc:t1.c1.result')
    expect(textOf(hidden)).toEqual([...textOf(copied).slice(0, -1), 'HIDDEN — seen. Retrieve with react.read(tc:t1.c1.result)'])
  })

  it('a hidden block without a path, and one that was folded into a checkpoint, leave nothing', () => {
    const noPath = withIds([{ ...stageBlock('gate', 't1', minute(0), 'x'), path: undefined } as unknown as Draft]).map((block) => ({
      ...block,
      meta: { hidden: true },
    }))
    expect(textOf(timelineOfBlocks(noPath))).toEqual([])
    expect(textOf(hide([header(), result('c1', 'a')], 'tc:t1.c1.result', 'x', { reason: 'compaction' }))).toHaveLength(1)
  })

  it('timeline 11.88: of two checkpoints of a turn only the newer is shown, since the newer one folded the older', () => {
    const checkpoint = (k: number): Draft => ({
      type: 'react.current_turn.compaction_checkpoint',
      author: 'system',
      turn_id: 't1',
      ts: minute(k),
      path: `ar:t1.react.mid_turn.compaction.${k}`,
      text: `[MID-TURN COMPACTION ${k}]`,
    })
    const folded = hide([header(), checkpoint(1)], 'ar:t1.react.mid_turn.compaction.1', '', { reason: 'compaction' })
    expect(textOf(withDrafts(folded, [checkpoint(2)])).slice(1)).toEqual(['[MID-TURN COMPACTION 2]'])
  })

  it('a fresh copy of what is hidden renders as usual', () => {
    const timeline = withDrafts(hide([header(), result('c1', 'old')], 'tc:t1.c1.result', 'gone'), [result('c1', 'new')])
    expect(textOf(timeline).at(-1)).toContain('new')
    expect(textOf(timeline).at(-2)).toContain('HIDDEN — gone')
  })

  it('expired blocks of an old turn are lines that name them; notes, notices and old expiry messages go without a trace', () => {
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

  it('an expired look-up of a recent turn keeps its heading and its essence', () => {
    const recent = hide([header(), call('c1'), result('c1', 'long')], 'tc:t1.c1.result', '{"result":[]}', {
      reason: 'cache_ttl_light',
      scope: 'recent',
    })
    expect(textOf(recent).at(-1)).toBe('[TOOL RESULT c1].pruned web_tools.web_search\nresult_hidden: tc:t1.c1.result\n{"result":[]}')
  })
})

describe('the slice', () => {
  it('heads a turn whose header was compacted away, once, and not the summary before it', () => {
    const timeline = timelineOf([...rounds(2), completion('done')])
    const cut = blocksOf(timeline)[3] as Block
    const summary = withIds(
      [
        {
          type: 'conv.range.summary',
          author: 'system',
          turn_id: 't1',
          ts: minute(9),
          path: 'su:t1.conv.range.summary',
          text: 'short',
          meta: { covered_turn_ids: [] },
        },
      ],
      90,
    )
    const slice = sliceOf(changed(timeline, { type: 'range.compacted', after_id: cut.id, blocks: summary, covered: [] }))
    expect(slice.shown.map(({ block }) => block.type)).toEqual([
      'conv.range.summary',
      'turn.header',
      'react.tool.call',
      'react.tool.result',
      'assistant.completion',
    ])
    expect(textsOf(slice.shown[1]?.parts ?? [])).toEqual(['[TURN t1]'])
    expect(slice.turnStart).toBe(1)
  })

  it('timeline 11.92: ten covered turns are named by the first two, the last two and their count', () => {
    const ids = Array.from({ length: 10 }, (_, n) => `t${n + 1}`)
    const summary: Draft = {
      type: 'conv.range.summary',
      author: 'system',
      turn_id: 't11',
      ts: minute(9),
      path: 'su:t11.conv.range.summary',
      text: 'short',
      meta: { covered_turn_ids: ids },
    }
    expect(shownTexts([summary])[0]).toContain('covered_turns: t1, t2, ..., t9, t10 (count=10)\n')
    expect(shownTexts([{ ...summary, meta: { covered_turn_ids: ids.slice(2) } }])[0]).toContain(
      'covered_turns: t3, t4, t5, t6, t7, t8, t9, t10\n',
    )
  })

  it('timeline 11.95: artifacts of the compacted range are listed in the summary, newest first', () => {
    const artifacts = Array.from({ length: 50 }, (_, n) => ({
      artifact_path: `fi:t1.files/${n}.md`,
      mime: 'text/markdown',
      kind: 'file',
      tool_id: 'react.write',
    }))
    const summary: Draft = {
      type: 'conv.range.summary',
      author: 'system',
      turn_id: 't2',
      ts: minute(9),
      path: 'su:t2.conv.range.summary',
      text: 'short',
      meta: { compaction_digest: { artifacts } },
    }
    const lines = (shownTexts([summary])[0] ?? '').split('\n')
    const from = lines.indexOf('artifacts:')
    expect(lines[from + 1]).toBe('- fi:t1.files/49.md | text/markdown | file | react.write')
    expect(lines.slice(from + 1).filter((line) => line.startsWith('- '))).toHaveLength(40)
  })

  it('numbers rounds over turns, by the positions of what is shown', () => {
    const slice = sliceOf(timelineOf([...rounds(2), completion('done'), ...rounds(1, 't2')]))
    expect([slice.turnStart, slice.roundEnds]).toEqual([7, [3, 5, 6, 10]])
  })
})

describe('the prompt', () => {
  it('timeline 11.37: the last two parts are the pool and the announcement, and no mark is on them', () => {
    const { parts, stableParts, marks } = render(rounds(2), { ...plainOptions('t1'), sources: 'POOL', announce: 'ANNOUNCE' })
    expect(textsOf(parts).slice(-2)).toEqual(['POOL\n\n', 'ANNOUNCE\n\n'])
    expect(stableParts).toBe(parts.length - 2)
    expect(marks.every((mark) => mark < stableParts)).toBe(true)
    expect(parts.flatMap((part, index) => (part.cache ? [index] : []))).toEqual(marks)
  })

  it('timeline 11.40: without tails there are none, as for the gate', () => {
    const { parts, stableParts } = render(rounds(2))
    expect(parts).toHaveLength(stableParts)
  })

  it('timeline 11.56: when the last block shows nothing, the mark is on the last part that is shown', () => {
    const silent = suggestedFollowupsBlock('t1', minute(4), ['and?'])
    const { parts, marks } = render([...rounds(1), completion('done'), silent])
    expect(marks.at(-1)).toBe(parts.length - 1)
    expect(textsOf(parts).at(-1)).toContain('[ASSISTANT MESSAGE]')
  })

  it('the mark is on the last part of its block', () => {
    const path = 'fi:t1.files/a.png'
    const image = artifactContentBlock(blockOrigin('c1'), { path, mime: 'image/png', blob: blob(), digest: { artifact_path: path } })
    const { parts, marks } = render([header(), prompt('draw'), call('c1', 'x.draw'), image])
    expect(parts[marks.at(-1) as number]).toMatchObject({ type: 'image', cache: true })
  })

  it('timeline 11.58: one more round leaves the parts up to the old tail mark as they were', () => {
    const before = render(rounds(6))
    const after = render(rounds(7))
    const bare = (parts: readonly Part[]) => parts.map(({ cache: _cache, ...part }) => part)
    const upTo = (before.marks.at(-1) as number) + 1
    expect(bare(after.parts.slice(0, upTo))).toEqual(bare(before.parts.slice(0, upTo)))
  })

  it('timeline 11.55: what only opens a round that has not happened changes nothing', () => {
    const pending: Draft = {
      type: 'react.round.start',
      author: 'react',
      turn_id: 't1',
      ts: minute(5),
      call_id: 'c9',
      text: 'thinking',
      meta: { iteration: 3 },
    }
    expect(render([...rounds(3), pending])).toEqual(render(rounds(3)))
  })

  it('timeline 11.16: rendering marks parts, never blocks', () => {
    const timeline = timelineOf(rounds(3))
    const before = structuredClone(blocksOf(timeline))
    expect(createRenderer().render(timeline, plainOptions('t1')).marks).not.toEqual([])
    expect(blocksOf(timeline)).toEqual(before)
  })

  it('carries at most three marks, in order, and none where nothing is', () => {
    const points = () => [9, -1, 3, 99, 5, 5, 1, 0.5]
    expect(render(rounds(6), { currentTurnId: 't1', points }).marks).toEqual([2, 3, 5]) // positions 3, 5 and 9
  })

  it('a mark inside a round ends the part there', () => {
    const { parts, marks } = render(rounds(2), { currentTurnId: 't1', points: () => [2, 5] })
    expect(textsOf(parts).map((text) => text.split('\n')[0])).toEqual([
      `[TURN t1] ts=${minute(0)}`,
      '[USER MESSAGE]',
      '[TOOL CALL t1c0].call web_tools.web_search',
      '[TOOL RESULT t1c0].result web_tools.web_search',
      '[TOOL CALL t1c1].call web_tools.web_search',
    ])
    expect(marks).toEqual([2, 4])
  })

  it('never merges over the end of a round, a turn start or what was said in between', () => {
    const { parts } = render([...rounds(2), completion('done'), ...rounds(1, 't2')])
    expect(textsOf(parts).map((text) => text.match(/^\[[A-Z ]+/)?.[0])).toEqual([
      '[TURN ',
      '[USER MESSAGE',
      '[TOOL CALL ',
      '[TOOL CALL ',
      '[ASSISTANT MESSAGE',
      '[TURN ',
      '[USER MESSAGE',
      '[TOOL CALL ',
    ])
  })

  it('many calls of one decision are one part', () => {
    const fan = Array.from({ length: 12 }, (_, n) => call(`c${n}`, 'x.y')).concat(
      Array.from({ length: 12 }, (_, n) => result(`c${n}`, `r${n}`)),
    )
    expect(render([...opening('t1', 0, 'go'), ...fan]).parts).toHaveLength(3)
  })

  it('what was rendered before stays as it was when the timeline grows', () => {
    const renderer = createRenderer()
    const start = timelineOf(rounds(2))
    const slice = renderer.slice(start)
    const prompt = renderer.render(start, plainOptions('t1'))
    const copy = structuredClone({ slice, prompt })
    renderer.render(withDrafts(start, [completion('done'), ...rounds(3, 't2')]), plainOptions('t2'))
    expect({ slice, prompt }).toEqual(copy)
    expect(renderer.render(start, plainOptions('t1'))).toEqual(copy.prompt)
  })

  it('asks for points once, with the current turn known', () => {
    const seen: (number | undefined)[] = []
    const points: RenderOptions['points'] = (slice) => {
      seen.push(slice.turnStart)
      return plainPoints(slice)
    }
    createRenderer().render(timelineOf([...rounds(1), ...rounds(1, 't2')]), { currentTurnId: 't1', points })
    expect(seen).toEqual([0])
  })
})
