import { describe, expect, it } from 'vitest'
import { sliceOf as renderedSlice } from '../../../test/support/prompts/shown-blocks.ts'
import { timelineOfBlocks } from '../../../test/support/prompts/timelines.ts'
import { prompt, withIds } from '../../testing/blocks.ts'
import type { Block } from '../block/index.ts'
import type { ShownBlock, Slice } from '../render/types.ts'
import { applyChange } from '../timeline/apply.ts'
import { blocksOf, emptyTimeline, type Timeline } from '../timeline/timeline.ts'
import { calibrationOf, createEstimator, createMeter, partsTokens } from './estimate.ts'
import { roughTokens } from './tokens.ts'

const counting = () => {
  const texts: string[] = []
  return {
    texts,
    estimator: createEstimator((text) => {
      texts.push(text)
      return roughTokens(text)
    }),
  }
}
const blob = (size: number) => ({ sha256: 'a'.repeat(64), size })
const picture = (mime: string, size: number): Block => ({ ...(withIds([prompt('')])[0] as Block), mime, blob: blob(size) })

describe('bytes', () => {
  it.each([
    ['image/png', 9, { width: 1000, height: 750 }, 1000],
    ['image/png', 9, { width: 1, height: 1 }, 1],
    ['image/png', 9, { width: 9000, height: 9000 }, 1600],
    ['image/jpeg', 199_999, {}, 150],
    ['image/jpeg', 200_000, {}, 400],
    ['image/jpeg', 500_000, {}, 1600],
    ['application/pdf', 10, {}, 4100],
    ['application/pdf', 75_001, {}, 8200],
    ['application/pdf', 10, { page_count: 3 }, 12_300],
    ['application/zip', 1_000_000, {}, 0],
  ])('of type %s, %i in number, with %o cost %i tokens', (mime, size, meta, tokens) => {
    const { estimator } = counting()
    expect(estimator.content({ ...picture(mime, size), meta })).toBe(tokens)
  })

  it('cost the same whether they are inline or a reference', () => {
    const { estimator } = counting()
    const { blob: _blob, ...bare } = picture('application/pdf', 90_000)
    expect(estimator.content({ ...bare, base64: 'A'.repeat(120_000) })).toBe(estimator.content(picture('application/pdf', 90_000)))
  })
})

describe('shown images and documents', () => {
  it.each([
    ['application/pdf', { page_count: 40 }, 164_000],
    ['image/png', { width: 1000, height: 750 }, 1000],
    ['image/png', {}, 150],
  ])('cost what the block says about them: %s with %o costs %i tokens', (mime, meta, tokens) => {
    const block: Block = { ...picture(mime, 100_000), type: 'user.attachment', meta }
    const parts = renderedSlice(timelineOfBlocks([block])).shown.at(-1)?.parts ?? []
    const { estimator } = counting()
    expect([estimator.content(block), estimator.parts(parts), partsTokens(parts, roughTokens)]).toEqual([tokens, tokens, tokens])
  })
})

describe('texts', () => {
  it('are counted once per block', () => {
    const { texts, estimator } = counting()
    const [block] = withIds([prompt('twelve chars')]) as [Block]
    expect([estimator.content(block), estimator.content(block)]).toEqual([3, 3])
    expect(texts).toEqual(['twelve chars'])
  })

  it('are not counted when their length alone is too short for the limit', () => {
    const { texts, estimator } = counting()
    expect(estimator.reaches('x'.repeat(900), 3000)).toBe(false)
    expect(texts).toEqual([])
    expect(estimator.reaches('x'.repeat(12_000), 3000)).toBe(true)
  })
})

describe('calibration', () => {
  const respond = (estimated?: number): Timeline =>
    applyChange(emptyTimeline(), {
      type: 'response.received',
      turn_id: 't1',
      ts: '2026-01-01T00:00:00.000Z',
      iteration: 0,
      call_id: 'c1',
      raw: '',
      finish_reason: 'stop',
      usage: { uncached: 10, cache_read: 80, cache_write: 40, output: 7 },
      ...(estimated !== undefined && { prompt: { estimated_tokens: estimated } }),
    })

  it('is the ratio of the billed to the estimated tokens of the latest response, between 1 and 4', () => {
    expect([100, 1_300, 13].map((estimated) => calibrationOf(respond(estimated)))).toEqual([1.3, 1, 4])
  })

  it('is 1 without a response or without an estimate', () => {
    expect([calibrationOf(emptyTimeline()), calibrationOf(respond()), calibrationOf(respond(0))]).toEqual([1, 1, 1])
  })
})

describe('the meter', () => {
  const shownOf = (block: Block): ShownBlock => ({ block, parts: [{ type: 'text', text: block.text ?? '' }], round: undefined })
  const cache = new Map<Block, ShownBlock>()
  const sliceOf = (timeline: Timeline): Slice => ({
    shown: blocksOf(timeline).map((block) => cache.get(block) ?? (cache.set(block, shownOf(block)).get(block) as ShownBlock)),
    turnStart: undefined,
    roundEnds: [],
  })
  const append = (timeline: Timeline, text: string) =>
    applyChange(timeline, { type: 'blocks.appended', blocks: withIds([prompt(text)], timeline.nextBlock) })

  it('counts nothing while the context cannot be full, and only what is new afterwards', () => {
    const { texts, estimator } = counting()
    const meter = createMeter(estimator)
    let timeline = append(append(emptyTimeline(), 'a'.repeat(100)), 'b'.repeat(100))
    expect(meter.exceeds(timeline, sliceOf(timeline), 1000)).toBe(false)
    expect(texts).toEqual([])
    timeline = append(timeline, 'c'.repeat(400))
    expect(meter.exceeds(timeline, sliceOf(timeline), 1000)).toBe(false)
    expect(texts).toHaveLength(3)
    timeline = append(timeline, 'd'.repeat(4000))
    expect(meter.exceeds(timeline, sliceOf(timeline), 1000)).toBe(true)
    expect(texts).toHaveLength(4)
    expect(meter.tokens(timeline, sliceOf(timeline))).toBe(1154)
  })

  it('counts each block of a turn once, also after a block was hidden, and again after a compaction', () => {
    const { texts, estimator } = counting()
    const meter = createMeter(estimator)
    let timeline = append(append(emptyTimeline(), 'a'.repeat(100)), 'b'.repeat(100))
    const { turn_id } = prompt('')
    expect(meter.turnTokens(timeline, turn_id)).toBe(50)
    timeline = applyChange(timeline, { type: 'blocks.hidden', ids: ['b_1'], replacement_text: 'seen', reason: 'hide' })
    timeline = append(timeline, 'c'.repeat(40))
    expect(meter.turnTokens(timeline, turn_id)).toBe(60)
    expect(texts).toHaveLength(3)
    timeline = applyChange(timeline, { type: 'range.compacted', after_id: 'b_1', blocks: withIds([prompt('abcd')], 4), covered: [] })
    expect(meter.turnTokens(timeline, turn_id)).toBe(36)
    expect(meter.turnTokens(timeline, 'another')).toBe(0)
  })

  it('counts the blocks of a turn again for a branch that an edit has made', () => {
    const meter = createMeter(createEstimator((given) => given.length))
    const { turn_id } = prompt('')
    const base = append(emptyTimeline(), 'aa')
    const edited = applyChange(base, { type: 'blocks.hidden', ids: ['b_1'], replacement_text: 'seen', reason: 'hide' })
    const [one, two] = [append(base, 'b'.repeat(100)), append(edited, 'ccc')]
    expect([one, two, one].map((each) => meter.turnTokens(each, turn_id))).toEqual([102, 5, 102])
  })

  it('counts again after an edit of the past, and for an older timeline', () => {
    const { estimator } = counting()
    const meter = createMeter(estimator)
    const before = append(append(emptyTimeline(), 'a'.repeat(400)), 'b'.repeat(400))
    expect(meter.tokens(before, sliceOf(before))).toBe(202)
    const compacted = applyChange(before, { type: 'range.compacted', after_id: 'b_1', blocks: withIds([prompt('short')], 3), covered: [] })
    expect(meter.tokens(compacted, sliceOf(compacted))).toBe(104)
    expect(meter.tokens(before, sliceOf(before))).toBe(202)
  })
})
