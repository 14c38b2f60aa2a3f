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

function reveal(
  timeline: Timeline,
  path: string,
  turnId = 't1',
  isCurrent: (block: Block) => boolean = () => true,
): RevealPlan | undefined {
  const slice = sliceOf(timeline, turnId)
  return planReveal(timeline, slice, cachePoints(slice, defaultCachePolicy), path, isCurrent)
}

const shownAt = (timeline: Timeline, path: string) => blocksAtPath(timeline, path).filter((block) => !isHidden(block))

/** Reads a path as `react.read` does. If the newest content is not visible, it is revealed at its place, or a copy is appended. */
function read(timeline: Timeline, path: string, turnId = 't1'): Timeline {
  const newest = blocksAtPath(timeline, path).at(-1)
  if (!newest || shownAt(timeline, path).some(({ text }) => text === newest.text)) return timeline
  const plan = reveal(timeline, path, turnId, ({ text }) => text === newest.text)
  if (plan) return applyChange(timeline, plan.change)
  const { hidden: _hidden, replacement_text: _text, hidden_reason: _reason, ...meta } = newest.meta ?? {}
  const again = { tool_call_id: 'read', iteration: 99 }
  const copy = { ...newest, id: blockId(timeline.nextBlock), call_id: 'read', meta: { ...meta, ...again } }
  return applyChange(timeline, { type: 'blocks.appended', blocks: [copy] })
}

const visibleTexts = (timeline: Timeline, text: string) => blocksOf(timeline).filter((block) => !isHidden(block) && block.text === text)

describe('reading a hidden path', () => {
  it('tools 18.43: after the pre-tail point the block becomes visible in place', () => {
    const timeline = hidden(timelineOf(rounds(6)), 'tc:t1.t1c5.result')
    expect(reveal(timeline, 'tc:t1.t1c5.result')).toMatchObject({ change: { type: 'blocks.revealed', ids: ['b_14'] } })
    expect(blocksOf(read(timeline, 'tc:t1.t1c5.result'))).toEqual(blocksOf(timelineOf(rounds(6))))
  })

  it('timeline 11.68, tools 18.43: before the pre-tail point the block stays hidden and a copy is appended', () => {
    const timeline = hidden(timelineOf(rounds(6)), 'tc:t1.t1c0.result')
    expect(reveal(timeline, 'tc:t1.t1c0.result')).toBeUndefined()
    const before = sliceOf(timeline, 't1').shown
    const after = sliceOf(read(timeline, 'tc:t1.t1c0.result'), 't1').shown
    expect(after.slice(0, before.length)).toEqual(before)
    expect(after.at(-1)?.block).toMatchObject({ path: 'tc:t1.t1c0.result', text: 'result 0 of t1' })
  })

  it('does not reveal the block that carries the pre-tail mark, and reveals the next one in place', () => {
    const timeline = hidden(timelineOf(rounds(6)), 'tc:t1.t1c1.result', 'tc:t1.t1c2.call')
    expect(reveal(timeline, 'tc:t1.t1c1.result')).toBeUndefined()
    expect(reveal(timeline, 'tc:t1.t1c2.call')).toMatchObject({ blocks: [{ path: 'tc:t1.t1c2.call' }] })
  })

  it('does not reveal a block that the previous turn hid, even after the pre-tail point', () => {
    const timeline = hidden(timelineOf([...rounds(2), completion('done'), ...rounds(1, 't2')]), 'tc:t1.t1c1.result')
    expect(reveal(timeline, 'tc:t1.t1c1.result', 't2')).toBeUndefined()
  })

  it.each([
    ['tc:t1.t1c5.result', 'result 5 of t1'],
    ['tc:t1.t1c0.result', 'result 0 of t1'],
  ])('timeline 11.67: the content of %s is visible once after a read, and a second read changes nothing', (path, text) => {
    const once = read(hidden(timelineOf(rounds(6)), path), path)
    expect(visibleTexts(once, text)).toHaveLength(1)
    expect(read(once, path)).toBe(once)
  })

  it('reveals all blocks that one call made at the path', () => {
    const group = ['one', 'two', 'three'].map((text) => result('g', text, 't1', 1))
    const timeline = hidden(timelineOf([...rounds(1), call('g', 'x', 't1', 1), ...group]), 'tc:t1.g.result')
    const plan = reveal(timeline, 'tc:t1.g.result', 't1', ({ text }) => text === 'three')
    expect(plan?.blocks.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
  })

  it('leaves older versions and other copies hidden', () => {
    const again = (callId: string, text: string) => ({
      ...result('g', text, 't1', 2),
      call_id: callId,
      meta: { tool_call_id: callId, iteration: 2 },
    })
    const drafts = [...rounds(1), call('g', 'x', 't1', 1), result('g', 'draft', 't1', 1), again('h', 'final'), again('i', 'final')]
    const timeline = hidden(timelineOf(drafts), 'tc:t1.g.result')
    expect(reveal(timeline, 'tc:t1.g.result', 't1', ({ text }) => text === 'final')?.change.ids).toEqual(['b_8'])
    expect(reveal(timeline, 'tc:t1.g.result', 't1', ({ text }) => text === 'draft')?.change.ids).toEqual(['b_6'])
    expect(reveal(timeline, 'tc:t1.g.result', 't1', () => false)).toBeUndefined()
  })

  it('reveals the hidden part of a group whose other part is visible', () => {
    const [first, second] = ['one', 'two'].map((text) => result('g', text, 't1', 1)) as [Draft, Draft]
    const timeline = timelineOf([...rounds(1), call('g', 'x', 't1', 1), first, second])
    const half = applyChange(timeline, { type: 'blocks.hidden', ids: ['b_7'], replacement_text: 'x', reason: 'hide' })
    expect(reveal(half, 'tc:t1.g.result')?.change.ids).toEqual(['b_7'])
  })

  it('has no plan for a path that was never hidden and for an unknown path', () => {
    expect(reveal(timelineOf(rounds(2)), 'tc:t1.tool_calls.t1c0.out.json')).toBeUndefined()
    expect(reveal(timelineOf(rounds(2)), 'fi:t1.files/none.md')).toBeUndefined()
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
          const after = read(timeline, path, 't2')
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
