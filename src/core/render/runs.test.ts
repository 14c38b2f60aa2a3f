import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { timelineOf, withDrafts } from '../../../test/support/prompts/timelines.ts'
import { completion, rounds } from '../../testing/blocks.ts'
import { chainHash, hashText, shortHash } from '../hash.ts'
import { applyChange } from '../timeline/apply.ts'
import { blockAt, type Timeline } from '../timeline/timeline.ts'
import { cachePoints, defaultCachePolicy } from './cache-points.ts'
import { createRenderer, type Renderer } from './render.ts'
import { chainParts, coalesce, createFingerprintRecorder, createFingerprints, type RunBlock, sameRun, shownCount } from './runs.ts'
import type { Part } from './types.ts'

const render = (renderer: Renderer, timeline: Timeline, turnId: string) =>
  renderer.render(timeline, { currentTurnId: turnId, points: (slice) => cachePoints(slice, defaultCachePolicy).marks })

const hide = (timeline: Timeline, position: number): Timeline =>
  applyChange(timeline, { type: 'blocks.hidden', ids: [blockAt(timeline, position)?.id ?? ''], replacement_text: 'gone', reason: 'hide' })

describe('a hash', () => {
  it('differs for texts that differ in one letter, in order or in length', () => {
    const texts = ['', 'a', 'b', 'ab', 'ba', 'aa', 'a\u0000', ' a', 'a ', 'long '.repeat(99), `${'long '.repeat(99)}.`]
    expect(new Set(texts.map((text) => hashText(text))).size).toBe(texts.length)
  })

  it('of a sequence depends on its order', () => {
    const [a, b] = [hashText('a'), hashText('b')]
    expect(chainHash(chainHash(0, a), b)).not.toBe(chainHash(chainHash(0, b), a))
  })

  it('has few collisions: ten thousand numbered lines have ten thousand hashes, and almost as many short ones', () => {
    const hashes = Array.from({ length: 10_000 }, (_, n) => hashText(`line ${n}`))
    expect(new Set(hashes).size).toBe(10_000)
    expect(new Set(hashes.map(shortHash)).size).toBeGreaterThan(9_998)
  })
})

const text = fc
  .constantFrom('', '\n', 'words', 'more\nwords', 'closing lines\n\n')
  .map((content): Part => ({ type: 'text', text: content }))
const image = fc.constantFrom('a', 'b').map((sha256): Part => ({ type: 'image', media_type: 'image/png', blob: { sha256, size: 1 } }))
const line = fc.record({
  parts: fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 }),
  round: fc.constantFrom(undefined, 0, 1),
  joined: fc.boolean(),
})

/** The parts of all runs, in the order in which a prompt contains them. */
function partsOf(lines: readonly RunBlock[]): readonly Part[] {
  const runs: RunBlock[][] = []
  lines.forEach((each, position) => {
    const before = lines[position - 1]
    if (before && sameRun(before, each)) runs.at(-1)?.push(each)
    else runs.push([each])
  })
  return runs.flatMap((run) => coalesce(run))
}

describe('the hash of the sent parts', () => {
  it('equals the hash of the coalesced parts, and each block has the hash of its own text', () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
        const grown: RunBlock[] = []
        const fingerprints = createFingerprints(grown)
        for (const each of lines) {
          grown.push(each)
          expect(fingerprints.sent(grown.length - 1)).toBe(chainParts(0, partsOf(grown)).at(-1) ?? 0)
          expect(fingerprints.block(grown.length - 1)).toBe(hashText(fingerprints.texts(grown.length - 1)[0] ?? ''))
        }
        const closed = lines.flatMap((each, end) => (lines[end + 1] && !sameRun(each, lines[end + 1] as RunBlock) ? [end] : []))
        for (const end of closed) expect(fingerprints.sent(end)).toBe(chainParts(0, partsOf(lines.slice(0, end + 1))).at(-1) ?? 0)
      }),
    )
  })
})

/** Steps of a conversation: `round` adds a round, `turn` begins a turn, and a number hides the block with this index. */
const steps = fc.array(fc.oneof(fc.constant('round' as const), fc.constant('turn' as const), fc.nat(30)), { maxLength: 15 })

describe('the record of a prompt', () => {
  it('is the same for a renderer that rendered every earlier prompt and for a new one', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        const old = createRenderer()
        let timeline = timelineOf(rounds(1))
        let turn = 1
        for (const step of happened) {
          if (step === 'turn') timeline = withDrafts(timeline, [completion('done', `t${turn}`), ...rounds(0, `t${++turn}`)])
          else if (step === 'round') timeline = withDrafts(timeline, rounds(2, `t${turn}`).slice(-2))
          else timeline = hide(timeline, step % timeline.size)
          const fresh = createRenderer()
          const [one, other] = [render(old, timeline, `t${turn}`), render(fresh, timeline, `t${turn}`)]
          expect(one).toEqual(other)
          const count = fresh.fingerprints(timeline).count()
          expect(old.fingerprints(timeline).blocks(0)).toEqual(fresh.fingerprints(timeline).blocks(0))
          expect(old.fingerprints(timeline).chain(count)).toBe(fresh.fingerprints(timeline).chain(count))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('together with the earlier records gives the hashes of all blocks', () => {
    fc.assert(
      fc.property(steps, (happened) => {
        const renderer = createRenderer()
        const recorder = createFingerprintRecorder()
        let timeline = timelineOf(rounds(1))
        let known: readonly number[] = []
        let before: ReturnType<typeof recorder.record> | undefined
        for (const step of happened) {
          timeline = typeof step === 'number' ? hide(timeline, step % timeline.size) : withDrafts(timeline, rounds(2).slice(-2))
          const fingerprints = renderer.fingerprints(timeline)
          before = recorder.record(fingerprints, before, { texts: false })
          known = [...known.slice(0, before.from), ...before.hashes]
          expect(known).toEqual(fingerprints.blocks(0))
          expect(shownCount(before)).toBe(fingerprints.count())
        }
      }),
      { numRuns: 60 },
    )
  })

  it('holds only what is new: the two blocks of an added round, or the blocks from an edit on', () => {
    const renderer = createRenderer()
    const recorder = createFingerprintRecorder()
    const start = timelineOf(rounds(6))
    const first = recorder.record(renderer.fingerprints(start), undefined, { texts: false })
    const grown = withDrafts(start, rounds(7).slice(-2))
    const second = recorder.record(renderer.fingerprints(grown), first, { texts: true })
    expect({ ...second, hashes: second.hashes.length, texts: second.texts?.length }).toMatchObject({
      from: shownCount(first),
      hashes: 2,
      texts: 2,
    })
    const edited = hide(grown, grown.size - 1)
    expect(recorder.record(renderer.fingerprints(edited), second, { texts: false }).hashes).toHaveLength(1)
  })

  it('continues the record of another process, and is complete after an edit of the past', () => {
    const start = timelineOf(rounds(6))
    const first = createFingerprintRecorder().record(createRenderer().fingerprints(start), undefined, { texts: false })
    const grown = withDrafts(start, rounds(7).slice(-2))
    expect(createFingerprintRecorder().record(createRenderer().fingerprints(grown), first, { texts: false }).from).toBe(shownCount(first))
    expect(createFingerprintRecorder().record(createRenderer().fingerprints(hide(grown, 4)), first, { texts: false }).from).toBe(0)
  })
})
