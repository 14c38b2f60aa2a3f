import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sliceOf } from '../../../test/support/prompts/shown-blocks.ts'
import { timelineOf } from '../../../test/support/prompts/timelines.ts'
import { call, completion, result, rounds } from '../../testing/blocks.ts'
import { type Block, blockId, type Draft, isHidden } from '../block/index.ts'
import { cachePoints, defaultCachePolicy } from '../render/cache-points.ts'
import { applyChange } from '../timeline/apply.ts'
import { blockAt, blocksAtPath, blocksOf, type Timeline } from '../timeline/timeline.ts'
import { planReveal, type RevealPlan } from './reveal.ts'

const hidden = (timeline: Timeline, ...paths: readonly string[]): Timeline =>
  paths.reduce((value, path) => {
    const ids = blocksAtPath(value, path).map(({ id }) => id)
    return applyChange(value, { type: 'blocks.hidden', ids, replacement_text: 'folded', reason: 'hide' })
  }, timeline)

function reveal(timeline: Timeline, path: string, turnId = 't1'): RevealPlan {
  const slice = sliceOf(timeline, turnId)
  return planReveal(timeline, slice, cachePoints(slice, defaultCachePolicy), path)
}

/** Applies a plan as `react.read` does: reveals the blocks, or appends copies. */
function read(timeline: Timeline, plan: RevealPlan): Timeline {
  if (plan.kind === 'reveal') return applyChange(timeline, plan.change)
  if (plan.kind !== 'copy') return timeline
  const copies = plan.blocks.map((block, index): Block => {
    const { hidden: _hidden, replacement_text: _text, hidden_reason: _reason, ...meta } = block.meta ?? {}
    const again = { tool_call_id: 'read', iteration: 99 }
    return { ...block, id: blockId(timeline.nextBlock + index), call_id: 'read', meta: { ...meta, ...again } }
  })
  return applyChange(timeline, { type: 'blocks.appended', blocks: copies })
}

const visibleTexts = (timeline: Timeline, text: string) => blocksOf(timeline).filter((block) => !isHidden(block) && block.text === text)

describe('reading a hidden path', () => {
  it('tools 18.43: after the pre-tail point the block becomes visible in place', () => {
    const timeline = hidden(timelineOf(rounds(6)), 'tc:t1.t1c5.result')
    const plan = reveal(timeline, 'tc:t1.t1c5.result')
    expect(plan).toMatchObject({ kind: 'reveal', change: { type: 'blocks.revealed', ids: ['b_14'] } })
    expect(blocksOf(read(timeline, plan))).toEqual(blocksOf(timelineOf(rounds(6))))
  })

  it('timeline 11.68, tools 18.43: before the pre-tail point the block stays hidden and a copy is appended', () => {
    const timeline = hidden(timelineOf(rounds(6)), 'tc:t1.t1c0.result')
    const plan = reveal(timeline, 'tc:t1.t1c0.result')
    expect(plan).toMatchObject({ kind: 'copy', blocks: [{ id: 'b_4', text: 'result 0 of t1' }] })
    const before = sliceOf(timeline, 't1').shown
    expect(sliceOf(read(timeline, plan), 't1').shown.slice(0, before.length)).toEqual(before)
  })

  it('copies the block that carries the pre-tail mark, and reveals the next one in place', () => {
    const timeline = hidden(timelineOf(rounds(6)), 'tc:t1.t1c1.result', 'tc:t1.t1c2.call')
    expect(reveal(timeline, 'tc:t1.t1c1.result').kind).toBe('copy')
    expect(reveal(timeline, 'tc:t1.t1c2.call').kind).toBe('reveal')
  })

  it('copies a block that the previous turn hid, even after the pre-tail point', () => {
    const timeline = hidden(timelineOf([...rounds(2), completion('done'), ...rounds(1, 't2')]), 'tc:t1.t1c1.result')
    expect(reveal(timeline, 'tc:t1.t1c1.result', 't2').kind).toBe('copy')
  })

  it.each([
    ['tc:t1.t1c5.result', 'result 5 of t1'],
    ['tc:t1.t1c0.result', 'result 0 of t1'],
  ])('timeline 11.67: the content of %s is visible once after a read, and a second read finds it visible', (path, text) => {
    const timeline = hidden(timelineOf(rounds(6)), path)
    const once = read(timeline, reveal(timeline, path))
    expect(visibleTexts(once, text)).toHaveLength(1)
    expect(reveal(once, path)).toMatchObject({ kind: 'visible', blocks: [{ text }] })
  })

  it('reveals all of a group', () => {
    const group = ['one', 'two', 'three'].map((text) => result('g', text, 't1', 1))
    const timeline = hidden(timelineOf([...rounds(1), call('g', 'x', 't1', 1), ...group]), 'tc:t1.g.result')
    const plan = reveal(timeline, 'tc:t1.g.result')
    expect(plan.kind === 'reveal' && plan.blocks.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
  })

  it('copies each content once, however often it was hidden', () => {
    const again = { ...result('t1c0', 'result 0 of t1', 't1', 7), call_id: 'again', meta: { tool_call_id: 'again', iteration: 7 } }
    const timeline = hidden(timelineOf([...rounds(6), call('again', 'react.read', 't1', 7), again]), 'tc:t1.t1c0.result')
    expect(blocksAtPath(timeline, 'tc:t1.t1c0.result').map(isHidden)).toEqual([true, true])
    expect(reveal(timeline, 'tc:t1.t1c0.result')).toMatchObject({ kind: 'copy', blocks: [{ text: 'result 0 of t1' }] })
  })

  it('reveals the hidden part of a group whose other part is visible', () => {
    const [first, second] = ['one', 'two'].map((text) => result('g', text, 't1', 1)) as [Draft, Draft]
    const timeline = timelineOf([...rounds(1), call('g', 'x', 't1', 1), first, second])
    const half = applyChange(timeline, { type: 'blocks.hidden', ids: ['b_7'], replacement_text: 'x', reason: 'hide' })
    expect(reveal(half, 'tc:t1.g.result')).toMatchObject({ kind: 'reveal', change: { ids: ['b_7'] } })
  })

  it('also reveals the block that carries the replacement text, even if its content is visible elsewhere', () => {
    const texts = ['same', 'new', 'same']
    const timeline = timelineOf([...rounds(1), call('g', 'x', 't1', 1), ...texts.map((text) => result('g', text, 't1', 1))])
    const half = applyChange(timeline, { type: 'blocks.hidden', ids: ['b_7', 'b_8'], replacement_text: 'x', reason: 'hide' })
    expect(reveal(half, 'tc:t1.g.result')).toMatchObject({ kind: 'reveal', change: { ids: ['b_7', 'b_8'] } })
  })

  it('reports visible for a path that was never hidden, and missing for an unknown path', () => {
    expect(reveal(timelineOf(rounds(2)), 'tc:t1.tool_calls.t1c0.out.json')).toMatchObject({ kind: 'visible', blocks: [{ id: 'b_4' }] })
    expect(reveal(timelineOf(rounds(2)), 'fi:t1.files/none.md')).toEqual({ kind: 'missing' })
  })

  it('the frozen part never changes and the content is visible, whatever was hidden and read', () => {
    const numRuns = 200
    let reads = 0
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 8 }),
        fc.integer({ min: 0, max: 8 }),
        fc.array(fc.nat(), { minLength: 1 }),
        fc.nat(),
        (before, now, hides, chosen) => {
          const past = before > 0 ? [...rounds(before), completion('done')] : []
          const whole = timelineOf([...past, ...rounds(now, 't2')])
          const paths = hides.flatMap((position) => blockAt(whole, position % whole.size)?.path ?? [])
          const timeline = hidden(whole, ...paths)
          const path = paths[chosen % Math.max(1, paths.length)]
          if (path === undefined) return
          reads++
          const slice = sliceOf(timeline, 't2')
          const { preTail = -1, prevTurn = -1 } = cachePoints(slice, defaultCachePolicy)
          const after = read(timeline, reveal(timeline, path, 't2'))
          const frozen = Math.max(preTail, prevTurn) + 1
          expect(sliceOf(after, 't2').shown.slice(0, frozen)).toEqual(slice.shown.slice(0, frozen))
          expect(visibleTexts(after, blocksAtPath(whole, path)[0]?.text ?? '')).not.toEqual([])
        },
      ),
      { numRuns },
    )
    expect(reads).toBeGreaterThan(numRuns / 2)
  })
})
