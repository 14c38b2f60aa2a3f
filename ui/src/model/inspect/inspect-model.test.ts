import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { groupOf } from '../block-groups.ts'
import { formatMoney, formatShort } from './figures.ts'
import { missSentence } from './miss-sentence.ts'
import { linkPaths } from './path-links.ts'
import { promptDifference } from './prompt-difference.ts'
import { promptRows, promptSegments, type Segment } from './prompt-segments.ts'
import { cutAtByte } from './replay-rows.ts'
import { sourceUses } from './source-uses.ts'
import { foldedDifference, textDifference } from './text-difference.ts'
import { createHistory, type Entry } from './time-travel.ts'
import { filterRows, minimapBands, stateOf, timelineRows, visibleBlocks } from './timeline-rows.ts'

const block = (id: number, more: object = {}) => ({
  id: `b_${id}`,
  type: 'user.prompt' as const,
  author: 'user',
  turn_id: 't1',
  ts: '2026-01-01T00:00:00.000Z',
  text: `text ${id}`,
  ...more,
})
const entry = (seq: number, change: object): Entry => ({ seq, change: change as Entry['change'] })

describe('the rows of the timeline', () => {
  const entries = [
    entry(1, { type: 'blocks.appended', blocks: [block(1), block(2, { path: 'fi:t1.files/a.md' })] }),
    entry(2, { type: 'blocks.appended', blocks: [block(3, { type: 'react.tool.result' })] }),
    entry(3, { type: 'blocks.hidden', ids: ['b_2'], replacement_text: 'gone', reason: 'hide' }),
    entry(4, { type: 'blocks.inserted', after_id: 'b_1', blocks: [block(4, { type: 'turn.feedback' })] }),
    entry(5, { type: 'range.compacted', after_id: 'b_3', blocks: [block(5, { type: 'conv.range.summary' })], covered: ['t1'] }),
  ]
  const rows = timelineRows(entries)
  const history = createHistory()
  const statesAt = (count: number) => {
    const visible = visibleBlocks(history.at(entries, count).timeline)
    return Object.fromEntries(rows.map((row) => [row.block.id, stateOf(row, count, visible)]))
  }

  it('are in the order of the timeline, and keep blocks that are not in the prompt any more', () => {
    expect(rows.map((row) => row.block.id)).toEqual(['b_1', 'b_4', 'b_2', 'b_3', 'b_5'])
  })

  it('say what became of each block at every entry', () => {
    expect(statesAt(1)).toEqual({ b_1: 'shown', b_2: 'shown', b_3: 'later', b_4: 'later', b_5: 'later' })
    expect(statesAt(3)).toEqual({ b_1: 'shown', b_2: 'hidden', b_3: 'shown', b_4: 'later', b_5: 'later' })
    expect(statesAt(5)).toEqual({ b_1: 'compacted', b_2: 'compacted', b_3: 'compacted', b_4: 'compacted', b_5: 'shown' })
  })

  it('can be filtered by text, group, state and path', () => {
    const all = { text: '', group: undefined, state: undefined, path: undefined }
    const ids = (filter: object) => filterRows(rows, { ...all, ...filter }, () => 'shown').map((row) => row.block.id)
    expect(ids({ text: 'TEXT 3' })).toEqual(['b_3'])
    expect(ids({ group: 'result' })).toEqual(['b_3'])
    expect(ids({ state: 'hidden' })).toEqual([])
    expect(ids({ path: 'fi:t1.files/a.md' })).toEqual(['b_2'])
    expect(minimapBands(rows, 3)).toHaveLength(3)
  })

  it('give every type a group, also types that are not known', () => {
    expect(['user.prompt', 'react.notice', 'react.notes', 'x', 'constructor', 'assistant.completion'].map(groupOf)).toEqual([
      'user',
      'notice',
      'thinking',
      'system',
      'system',
      'answer',
    ])
  })
})

describe('texts', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 12 }).map((all) => all.join('\n'))

  it('a difference contains both texts completely', () => {
    fc.assert(
      fc.property(lines, lines, (before, now) => {
        const difference = textDifference(before, now)
        const side = (without: string) =>
          difference
            .filter(({ kind }) => kind !== without)
            .map(({ text }) => text)
            .join('\n')
        expect([side('added'), side('removed')]).toEqual([before, now])
        const folded = foldedDifference(difference)
        const counted = folded.reduce<number>((sum, line) => sum + (typeof line === 'number' ? line : 1), 0)
        expect(counted).toBe(difference.length)
      }),
    )
  })

  it('each known path is a piece of its own, and the pieces together are the whole text', () => {
    const known = new Set(['fi:t1.files/a.md', 'tc:t1.c1.result'])
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('fi:t1.files/a.md', 'tc:t1.c1.result', ' ', '.', '"', '[', 'x', '\n'), { maxLength: 20 }),
        (parts) => {
          const text = parts.join('')
          const pieces = linkPaths(text, (path) => known.has(path))
          expect(pieces.map((piece) => piece.text).join('')).toBe(text)
          for (const { path } of pieces) if (path !== undefined) expect(known.has(path)).toBe(true)
        },
      ),
    )
    expect(linkPaths('see [fi:t1.files/a.md].', (path) => known.has(path)).map(({ path }) => path)).toEqual([
      undefined,
      'fi:t1.files/a.md',
      undefined,
    ])
  })

  it('a byte position cuts a text between characters', () => {
    expect(cutAtByte('añb', 3)).toEqual(['añ', 'b'])
  })

  it('a call that costs nothing costs $0', () => {
    expect(formatMoney(0)).toBe('$0')
  })

  it('amounts say what is not known', () => {
    expect([formatMoney(5_283_000), formatMoney(0, 2), formatMoney(null), formatMoney(1_500_000_000, 1), formatShort(12_345)]).toEqual([
      '$0.005283',
      '?',
      '?',
      '≥ $1.500000',
      '12k',
    ])
    const miss = { cause: 'system text changed', tokens: 1_761, money: 5_283_000 }
    expect(missSentence(miss)).toBe('System text changed: 1,761 tokens paid again, $0.005283.')
  })
})

describe('a prompt', () => {
  it('its rows are its exact text, in pieces that a screen can show', () => {
    const long = `${'x'.repeat(20_000)}\n${'line\n'.repeat(500)}\u{1f600}`.repeat(3)
    const rows = promptRows([
      { text: long, marked: true },
      { text: '', marked: false },
    ])
    expect(rows.flatMap((row) => (row.kind === 'text' ? [row.text] : [])).join('')).toBe(long)
    expect(Math.max(...rows.map((row) => (row.kind === 'text' ? row.text.length : 0)))).toBeLessThanOrEqual(6_000)
    expect(rows.filter(({ kind }) => kind === 'heading')).toHaveLength(2)
    expect(rows.filter(({ kind }) => kind === 'mark')).toEqual([{ kind: 'mark', segment: 0 }])
  })

  it('its blocks have the texts at their spans', () => {
    const prompt = {
      turn_id: 't',
      iteration: 0,
      model: 'm',
      system: 'SYSTEM',
      usage: null,
      parts: [{ type: 'text' as const, text: 'onetwo', marked: true, tokens: 2 }],
      blocks: [
        { key: 'system', type: 'system', marked: true, spans: [{ part: -1, start: 0, end: 6 }] },
        { key: 'b_1', type: 'user.prompt', marked: false, spans: [{ part: 0, start: 0, end: 3 }] },
        { key: 'b_2', type: 'user.prompt', marked: true, spans: [{ part: 0, start: 3, end: 6 }] },
      ],
    }
    expect(promptSegments(prompt, undefined).map(({ text }) => text)).toEqual(['SYSTEM', 'one', 'two'])
  })

  it('is compared block by block: equal, changed, new and gone', () => {
    const segment = (key: string, text: string) => ({ key, text }) as Segment
    const changes = promptDifference(
      [segment('a', '1'), segment('b', '2'), segment('c', '3'), segment('tail', 'x')],
      [segment('a', '1'), segment('c', '4'), segment('d', '5'), segment('tail', 'x')],
    )
    expect(changes.map(({ kind, now, before }) => [kind, (now ?? before)?.key])).toEqual([
      ['same', 'a'],
      ['removed', 'b'],
      ['changed', 'c'],
      ['added', 'd'],
      ['same', 'tail'],
    ])
  })
})

it('a source is cited where the agent has written its number', () => {
  const answer = block(1, { type: 'assistant.completion', text: 'Red [[S:1]] and blue [[S:2,3]].' })
  const result = block(2, { type: 'react.tool.result', text: '[[S:1]]' })
  const uses = sourceUses([answer, result] as never)
  expect([...uses.keys()]).toEqual([1, 2, 3])
  expect(uses.get(1)).toMatchObject([{ blockId: 'b_1' }])
})
