import { describe, expect, it } from 'vitest'
import { blob, render, shownTexts, sliceOf, textsOf } from '../../../test/support/prompts/shown-blocks.ts'
import { plainOptions, plainPoints, timelineOf, turnStart, withChanges, withDrafts } from '../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, completion, header, minute, ofUnknownType, prompt, result, rounds, withIds } from '../../testing/blocks.ts'
import { artifactContentBlock, type Block, type Draft, suggestedFollowupsBlock } from '../block/index.ts'
import { blocksOf } from '../timeline/timeline.ts'
import { createRenderer, type RenderOptions } from './render.ts'
import type { Part } from './types.ts'

describe('the slice', () => {
  it('adds a header to a turn whose own header was compacted away, after the summary', () => {
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
    const slice = sliceOf(withChanges(timeline, { type: 'range.compacted', after_id: cut.id, blocks: summary, covered: [] }))
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

  it('numbers rounds across turns, by positions of shown blocks', () => {
    const slice = sliceOf(timelineOf([...rounds(2), completion('done'), ...rounds(1, 't2')]))
    expect([slice.turnStart, slice.roundEnds]).toEqual([7, [3, 5, 6, 10]])
  })
})

describe('the prompt', () => {
  it('timeline 11.37: the last two parts are the sources and the announcement, without cache marks', () => {
    const { parts, stableParts, marks } = render(rounds(2), { ...plainOptions('t1'), sources: 'POOL', announce: 'ANNOUNCE' })
    expect(textsOf(parts).slice(-2)).toEqual(['POOL\n\n', 'ANNOUNCE\n\n'])
    expect(stableParts).toBe(parts.length - 2)
    expect(marks.every((mark) => mark < stableParts)).toBe(true)
    expect(parts.flatMap((part, index) => (part.cache ? [index] : []))).toEqual(marks)
  })

  it('timeline 11.40: a prompt without tails ends with the stable parts', () => {
    const { parts, stableParts } = render(rounds(2))
    expect(parts).toHaveLength(stableParts)
  })

  it('timeline 11.56: when the last block is not shown, the mark is on the last shown part', () => {
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

  it('timeline 11.58: one more round does not change the parts up to the old tail mark', () => {
    const before = render(rounds(6))
    const after = render(rounds(7))
    const bare = (parts: readonly Part[]) => parts.map(({ cache: _cache, ...part }) => part)
    const upTo = (before.marks.at(-1) as number) + 1
    expect(bare(after.parts.slice(0, upTo))).toEqual(bare(before.parts.slice(0, upTo)))
  })

  it('timeline 11.55: a block that only opens a round changes nothing', () => {
    const fields = { author: 'react', ts: minute(5), call_id: 'c9', text: 'thinking', meta: { iteration: 3 } }
    const pending = ofUnknownType('react.round.start', { ...header('t1'), ...fields })
    expect(render([...rounds(3), pending])).toEqual(render(rounds(3)))
  })

  it('timeline 11.16: rendering marks parts, never blocks', () => {
    const timeline = timelineOf(rounds(3))
    const before = structuredClone(blocksOf(timeline))
    expect(createRenderer().render(timeline, plainOptions('t1')).marks).not.toEqual([])
    expect(blocksOf(timeline)).toEqual(before)
  })

  it('has at most three marks, in order, and ignores points outside of the slice', () => {
    const points = () => [9, -1, 3, 99, 5, 5, 1, 0.5]
    expect(render(rounds(6), { currentTurnId: 't1', points }).marks).toEqual([2, 3, 5]) // after the blocks at positions 3, 5 and 9
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

  it('never merges blocks of different rounds, turns or messages into one part', () => {
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

  it('the calls and results of one decision are one part', () => {
    const fan = Array.from({ length: 12 }, (_, n) => call(`c${n}`, 'x.y')).concat(
      Array.from({ length: 12 }, (_, n) => result(`c${n}`, `r${n}`)),
    )
    expect(render([...turnStart('t1', 0, 'go'), ...fan]).parts).toHaveLength(3)
  })

  it('earlier prompts and slices do not change when the timeline grows', () => {
    const renderer = createRenderer()
    const start = timelineOf(rounds(2))
    const slice = renderer.slice(start)
    const prompt = renderer.render(start, plainOptions('t1'))
    const copy = structuredClone({ slice, prompt })
    renderer.render(withDrafts(start, [completion('done'), ...rounds(3, 't2')]), plainOptions('t2'))
    expect({ slice, prompt }).toEqual(copy)
    expect(renderer.render(start, plainOptions('t1'))).toEqual(copy.prompt)
  })

  it('calls `points` once, with the header of the current turn', () => {
    const seen: (number | undefined)[] = []
    const points: RenderOptions['points'] = (slice) => {
      seen.push(slice.turnStart)
      return plainPoints(slice)
    }
    createRenderer().render(timelineOf([...rounds(1), ...rounds(1, 't2')]), { currentTurnId: 't1', points })
    expect(seen).toEqual([0])
  })
})
