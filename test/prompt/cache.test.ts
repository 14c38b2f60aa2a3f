import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attachmentBlocks, type Draft, suggestedFollowupsBlock, userEventBlock } from '../../src/core/block/index.ts'
import { roughTokens } from '../../src/core/estimate/tokens.ts'
import { planHide } from '../../src/core/hide/hide.ts'
import { planReveal } from '../../src/core/hide/reveal.ts'
import { cachePoints, defaultCachePolicy } from '../../src/core/render/cache-points.ts'
import { createRenderer, type Prompt } from '../../src/core/render/render.ts'
import type { Part } from '../../src/core/render/types.ts'
import { applyChange } from '../../src/core/timeline/apply.ts'
import { blockAt, type Timeline } from '../../src/core/timeline/timeline.ts'
import { call, completion, minute, result, rounds } from '../../src/testing/blocks.ts'
import { createCacheSimulator } from '../../src/testing/cache-simulator.ts'
import { type CostScript, costsOf, scriptedCalls } from '../support/prompts/cost-script.ts'
import { timelineOf, withDrafts } from '../support/prompts/timelines.ts'

// These tests combine cache points, hiding and rendering. They check the prompt that a provider gets.
const pointsOf = (timeline: Timeline, turnId: string) => cachePoints(createRenderer().slice(timeline, turnId), defaultCachePolicy)
const render = (timeline: Timeline, turnId: string): Prompt =>
  createRenderer().render(timeline, {
    currentTurnId: turnId,
    points: (slice) => cachePoints(slice, defaultCachePolicy).marks,
    announce: 'now',
  })

const bare = ({ cache: _cache, ...part }: Part): Omit<Part, 'cache'> => part
const upTo = (prompt: Prompt, part: number) => prompt.parts.slice(0, part + 1).map(bare)
const P = (before: number, now: number) => [...rounds(before), completion('done'), ...rounds(now, 't2')]

describe('marks in a prompt', () => {
  it.each([
    ['timeline 11.49: P(2,1)', P(2, 1), [3, 6, 10]],
    ['timeline 11.50: P(2,3)', P(2, 3), [5, 6, 14]],
    ['timeline 11.51: P(2,6)', P(2, 6), [6, 12, 20]],
  ])('are at the expected blocks of %s', (_, drafts, marks) => {
    expect(pointsOf(timelineOf(drafts), 't2').marks).toEqual(marks)
  })

  it('timeline 11.52: a hide in the turn gives the slot of the previous turn to the pre-tail point, for this turn only', () => {
    const timeline = timelineOf(P(2, 6))
    const slice = createRenderer().slice(timeline, 't2')
    const request = { path: 'tc:t2.t2c5.result', replacement_text: 'read' }
    const plan = planHide(slice, pointsOf(timeline, 't2'), request, { tokens: roughTokens, tailTokens: 2_000 })
    const folded = plan.ok ? applyChange(timeline, plan.change) : timeline
    const marksIn = (value: Timeline, turnId: string, hasHidden: boolean) =>
      cachePoints(createRenderer().slice(value, turnId), defaultCachePolicy, { hasHidden }).marks
    expect(marksIn(timeline, 't2', false)).toEqual([6, 12, 20])
    expect(marksIn(folded, 't2', true)).toEqual([12, 20])
    expect(marksIn(withDrafts(folded, [completion('done', 't2'), ...rounds(6, 't3')]), 't3', false)).toEqual([21, 27, 35])
  })

  it('are on the last part of each cache point; a closed round is one part, header and prompt are a part each', () => {
    const { marks, stableParts, parts } = render(timelineOf(P(2, 6)), 't2')
    expect({ marks, stableParts }).toEqual({ marks: [4, 8, 12], stableParts: 13 })
    expect(parts.flatMap((part, index) => (part.cache ? [index] : []))).toEqual(marks)
  })

  it('timeline 11.56: a block that renders to nothing has no mark; the nearest earlier part has it', () => {
    const silent = { ...suggestedFollowupsBlock('t1', minute(9), ['more?']), meta: { iteration: 2 } }
    expect(render(timelineOf([...rounds(3), silent]), 't1')).toEqual(render(timelineOf(rounds(3)), 't1'))
  })

  it('timeline 11.58: with another round the parts up to the old tail mark are the same', () => {
    const before = render(timelineOf(rounds(6)), 't1')
    const tail = before.marks.at(-1) as number
    expect(upTo(render(timelineOf(rounds(7)), 't1'), tail)).toEqual(upTo(before, tail))
  })

  it('timeline 11.59: a different tool catalogue moves no mark, and the whole prompt is uncached', () => {
    const prompt = render(timelineOf(P(2, 6)), 't2')
    const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 0, ttlSeconds: 300, count: roughTokens })
    const [old, now] = ['tools: read', 'tools: read, write']
    cache.call({ system: old, parts: prompt.parts, at: 0 })
    expect(cache.call({ system: old, parts: prompt.parts, at: 1 }).cacheWrite).toBe(0)
    expect(cache.call({ system: now, parts: render(timelineOf(P(2, 6)), 't2').parts, at: 2 }).cacheRead).toBe(0)
  })
})

/** Steps that continue a conversation: rounds of one to thirteen calls, followups, images of the user, new turns. */
const continuation = fc.array(fc.oneof(fc.integer({ min: 1, max: 13 }), fc.constantFrom('followup', 'images', 'turn')), { maxLength: 12 })

function round(turnId: string, iteration: number, calls: number): readonly Draft[] {
  const ids = Array.from({ length: calls }, (_, i) => `${turnId}s${iteration}c${i}`)
  return [...ids.map((id) => call(id, 'x', turnId, iteration)), ...ids.map((id) => result(id, `of ${id}`, turnId, iteration))]
}

/** Sixteen attached images, which is the maximum that a prompt shows for one message. */
const images = (turnId: string, at: number): readonly Draft[] =>
  Array.from({ length: 16 }, (_, n) => {
    const file = { name: `${at}-${n}.png`, mime: 'image/png', size_bytes: 9, blob: { sha256: `${turnId}-${at}-${n}`, size: 9 } }
    return attachmentBlocks(turnId, minute(at), file)
  }).flat()

function conversation(
  steps: readonly (number | 'followup' | 'images' | 'turn')[],
): readonly { readonly drafts: readonly Draft[]; readonly turnId: string }[] {
  let turn = 1
  return steps.map((step, index) => {
    if (step === 'turn') {
      const done = completion('done', `t${turn}`, index)
      turn += 1
      return { drafts: [done, ...rounds(0, `t${turn}`)], turnId: `t${turn}` }
    }
    const turnId = `t${turn}`
    const followup = userEventBlock('followup', turnId, minute(index), { messageId: `m${index}`, text: 'and' })
    if (step === 'followup') return { drafts: [followup], turnId }
    if (step === 'images') return { drafts: [...round(turnId, index, 1), followup, ...images(turnId, index)], turnId }
    return { drafts: round(turnId, index, step), turnId }
  })
}

describe('the prefix', () => {
  it('is unchanged up to the old tail mark whatever follows, and the provider reads it from its cache', () => {
    fc.assert(
      fc.property(continuation, (steps) => {
        const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 0, ttlSeconds: 300, count: roughTokens })
        let timeline = timelineOf(rounds(0))
        let before = render(timeline, 't1')
        let kept = cache.call({ system: 'system', parts: before.parts, at: 0 })
        for (const { drafts, turnId } of conversation(steps)) {
          timeline = withDrafts(timeline, drafts)
          const now = render(timeline, turnId)
          const tail = before.marks.at(-1) as number
          expect(upTo(now, tail)).toEqual(upTo(before, tail))
          const usage = cache.call({ system: 'system', parts: now.parts, at: 0 })
          expect(usage.cacheRead).toBe(kept.cacheRead + kept.cacheWrite)
          before = now
          kept = usage
        }
      }),
      { numRuns: 60 },
    )
  })

  it('includes images sent during a turn: they are written to the cache when they first appear, and read in every later call', () => {
    const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 0, ttlSeconds: 300, count: roughTokens })
    let timeline = timelineOf(P(2, 6))
    const ask = () => cache.call({ system: 'system', parts: render(timeline, 't2').parts.slice(0, -1), at: 0 })
    ask()
    for (const step of [
      [call('a', 'x', 't2', 6), result('a', 'of a', 't2', 6), ...images('t2', 6)],
      [call('b', 'x', 't2', 7), result('b', 'of b', 't2', 7)],
    ]) {
      timeline = withDrafts(timeline, step)
      expect(ask().uncached).toBe(0)
    }
    expect(ask()).toMatchObject({ uncached: 0, cacheWrite: 0 })
  })

  it('is unchanged up to the frozen part after every hide and every read of a hidden block', () => {
    const counts = { hides: 0, reveals: 0 }
    fc.assert(
      fc.property(continuation, fc.array(fc.nat(), { maxLength: 4 }), fc.nat(), (steps, hides, chosen) => {
        const happened = conversation(steps)
        const turnId = happened.at(-1)?.turnId ?? 't1'
        let timeline = timelineOf([...rounds(0), ...happened.flatMap(({ drafts }) => drafts)])
        const frozenParts = () => {
          const prompt = render(timeline, turnId)
          const { preTail = -1, prevTurn = -1 } = pointsOf(timeline, turnId)
          const frozen = Math.max(preTail, prevTurn)
          const only = createRenderer().render(timeline, { currentTurnId: turnId, points: () => [frozen] })
          return upTo(prompt, only.marks[0] ?? -1)
        }
        let lastHidden: string | undefined
        for (const position of hides) {
          const path = blockAt(timeline, position % timeline.size)?.path ?? 'ar:t1.user.prompt'
          const before = frozenParts()
          const slice = createRenderer().slice(timeline, turnId)
          const points = cachePoints(slice, defaultCachePolicy)
          const plan = planHide(slice, points, { path, replacement_text: 'x' }, { tokens: roughTokens, tailTokens: 2_000 })
          if (plan.ok) {
            counts.hides++
            lastHidden = path
            timeline = applyChange(timeline, plan.change)
          }
          expect(frozenParts()).toEqual(before)
        }
        const anyPath = blockAt(timeline, chosen % timeline.size)?.path ?? 'ar:t1.user.prompt'
        const path = chosen % 4 === 0 ? anyPath : (lastHidden ?? anyPath)
        const before = frozenParts()
        const plan = planReveal(timeline, createRenderer().slice(timeline, turnId), pointsOf(timeline, turnId), path, () => true)
        if (plan) {
          counts.reveals++
          timeline = applyChange(timeline, plan.change)
        }
        expect(frozenParts()).toEqual(before)
      }),
      { numRuns: 60 },
    )
    expect(counts.hides).toBeGreaterThan(15)
    expect(counts.reveals).toBeGreaterThan(5)
  })
})

describe('billed input', () => {
  const small: CostScript = {
    turns: 5,
    roundsPerTurn: 5,
    resultCharacters: 2_000,
    announceTokens: 700,
    callsPerRound: 1,
    resultsPerCall: 1,
    foldEvery: 0,
  }

  it.each<[string, Partial<CostScript>]>([
    ['an unchanging tail', { announceTokens: 0 }],
    ['fresh status in every round', {}],
    ['20 KB results', { resultCharacters: 20_000 }],
    ['12 results in one round', { resultCharacters: 20_000, resultsPerCall: 12 }],
    ['12 calls in one response', { resultCharacters: 20_000, callsPerRound: 12 }],
    ['a hide in every third round', { foldEvery: 3 }],
  ])('with %s costs at most 1.02 × the ideal, in which only new text is uncached', (_, changes) => {
    const { ideal, ours } = costsOf(scriptedCalls({ ...small, ...changes }))
    expect(ours.cost / ideal.cost).toBeLessThanOrEqual(1.02)
  })

  it.each<[string, Partial<CostScript>]>([
    ['fresh status in every round', {}],
    ['12 calls in one response', { announceTokens: 0, callsPerRound: 12 }],
  ])('with %s would cost more than three times the ideal if only the last part had a mark', (_, changes) => {
    const { ideal, lastPart } = costsOf(scriptedCalls({ ...small, ...changes }))
    expect(lastPart.cost / ideal.cost).toBeGreaterThan(3)
  })
})
