import type { BlockBuffer } from '../timeline/block-buffer.ts'
import type { Timeline } from '../timeline/timeline.ts'
import { lastDistinct } from './cache-points.ts'
import { chainParts, coalesce, createFingerprints, type Fingerprints, sameRun } from './runs.ts'
import { textPart } from './text.ts'
import type { Part, RenderSettings, Slice } from './types.ts'
import { createWalk, currentTurnIdOf, defaultSettings, type RenderedBlock, type Walk } from './walk.ts'

/**
 * The message that a model reads. First come the parts of the blocks, then the tail: the source pool and the announce, which may change in
 * every round.
 */
export interface Prompt {
  readonly parts: readonly Part[]
  /** The indices of the parts with a mark, ascending. The parts of the tail have no mark. */
  readonly marks: readonly number[]
  /** The number of parts before the tail. */
  readonly stableParts: number
  /** For each mark, the position of the block after which it is set: an index into `Slice.shown`. */
  readonly points: readonly number[]
  /** For each mark, one hash of all parts up to and including the marked part. */
  readonly segments: readonly number[]
}

export interface RenderOptions {
  readonly currentTurnId: string
  /**
   * Returns the positions of the blocks after which a mark is set. `slice` has all blocks that the model sees. It is valid only during this
   * call.
   */
  readonly points: (slice: Slice) => readonly number[]
  readonly sources?: string | undefined
  readonly announce?: string | undefined
}

/**
 * Renders timelines to prompts. The renderer keeps the parts of all blocks of the last timeline. If the next timeline only has additional
 * blocks, only these are rendered. If blocks in the middle were changed, the parts of the unchanged blocks are used again.
 */
export interface Renderer {
  slice(timeline: Timeline, currentTurnId?: string): Slice
  /** Returns the same slice as `slice`, but does not copy the lists. It is valid until the renderer is called with another timeline. */
  peek(timeline: Timeline, currentTurnId: string): Slice
  render(timeline: Timeline, options: RenderOptions): Prompt
  /**
   * Hashes of the shown blocks. The renderer keeps the returned object, and adds hashes to it when it is called with a timeline that has
   * more blocks. When an earlier block was hidden or removed, call this function again to get the right hashes.
   */
  fingerprints(timeline: Timeline): Fingerprints
}

export function createRenderer(settings: RenderSettings = defaultSettings): Renderer {
  let last: Layout | undefined

  function layoutOf(timeline: Timeline): Layout {
    const { buffer, size } = timeline
    if (last?.buffer !== buffer || last.size() > size) last = createLayout(createWalk(timeline, settings, last))
    else if (last.size() < size) last.extend(timeline)
    return last
  }

  return {
    fingerprints: (timeline) => layoutOf(timeline).fingerprints,
    peek: (timeline, currentTurnId) => layoutOf(timeline).peek(currentTurnId),
    slice: (timeline, currentTurnId) => layoutOf(timeline).slice(currentTurnId ?? currentTurnIdOf(timeline)),
    render(timeline, { currentTurnId, points, sources, announce }) {
      const layout = layoutOf(timeline)
      const validPoints = lastValid(points(layout.peek(currentTurnId)), layout.shown.length)
      const tails = tailParts(sources, announce)
      const { parts, marks, segments } = layout.parts(validPoints, tails)
      for (const index of marks) parts[index] = { ...(parts[index] as Part), cache: true }
      return { parts, marks, stableParts: parts.length - tails.length, points: validPoints, segments }
    },
  }
}

function tailParts(sources: string | undefined, announce: string | undefined): readonly Part[] {
  const parts: Part[] = []
  if (sources) parts.push(textPart(`${sources}\n\n`))
  if (announce) parts.push(textPart(`${announce}\n\n`))
  return parts
}

/** Returns the last three points that are positions of shown blocks, ascending and without duplicates. */
function lastValid(points: readonly number[], shownCount: number): readonly number[] {
  const isValid = (point: number) => Number.isInteger(point) && point >= 0 && point < shownCount
  return lastDistinct(points.every(isValid) ? points : points.filter(isValid))
}

/** The parts of all shown blocks of a timeline. */
interface Layout extends Pick<Walk, 'slice' | 'peek'> {
  readonly shown: readonly RenderedBlock[]
  readonly fingerprints: Fingerprints
  readonly buffer: BlockBuffer
  size(): number
  extend(timeline: Timeline): void
  /** A new list of all parts, with the tail at its end. `ends` are the positions of the blocks after which a mark is set. */
  parts(ends: readonly number[], tails: readonly Part[]): MarkedParts
}

interface MarkedParts {
  readonly parts: Part[]
  readonly marks: readonly number[]
  readonly segments: readonly number[]
}

/**
 * Makes the parts of a prompt from the shown blocks. Consecutive blocks of one round are called a run. A run becomes one text part,
 * followed by its images. A run is closed when the next run starts. Only the last run is open: the next block may still belong to it.
 * Therefore only the parts of the last run have to be made again.
 *
 *   blocks      header    prompt    call  result with image    call  result       call …
 *   parts       [ 0 ]     [ 1 ]     [ 2: round 0 ][ 3: image ]  [ 4: round 1 ]    open run: round 2
 *   lastPart      0         1        -1       3                 -1      4
 */
function createLayout(walk: Walk): Layout {
  const { shown } = walk
  const closedParts: Part[] = []
  const lastPart: number[] = [] // for each position, the index of the part that ends with the block; -1 if the run continues after it
  const fingerprints = createFingerprints(shown)
  let openFrom = 0 // the position of the first block in the open run
  let openParts: readonly Part[] | undefined
  let laidOut = 0

  function layOut() {
    for (; laidOut < shown.length; laidOut++) {
      if (laidOut > openFrom && !sameRun(shown[laidOut - 1] as RenderedBlock, shown[laidOut] as RenderedBlock)) closeRun()
      lastPart.push(-1)
      openParts = undefined
    }
  }

  function closeRun() {
    for (const part of openParts ?? coalesce(shown, openFrom, laidOut)) closedParts.push(part)
    lastPart[laidOut - 1] = closedParts.length - 1
    openFrom = laidOut
  }

  /** Makes all parts again and splits a run where a mark is set inside it. This is needed only when a mark is not at the end of a run. */
  function partsSplitAt(ends: readonly number[], tails: readonly Part[]): MarkedParts {
    const splits = new Set(ends)
    const parts: Part[] = []
    const marks: number[] = []
    let from = 0
    shown.forEach((block, position) => {
      const next = shown[position + 1]
      if (next && sameRun(block, next) && !splits.has(position)) return
      parts.push(...coalesce(shown, from, position + 1))
      from = position + 1
      if (splits.has(position)) marks.push(parts.length - 1)
    })
    const hashes = chainParts(0, parts)
    return { parts: [...parts, ...tails], marks, segments: marks.map((mark) => hashes[mark] as number) }
  }

  layOut()
  return {
    shown,
    fingerprints,
    buffer: walk.buffer,
    size: () => walk.size,
    extend(timeline) {
      walk.extend(timeline)
      layOut()
    },
    slice: walk.slice,
    peek: walk.peek,
    parts(ends, tails) {
      const open = openParts ?? coalesce(shown, openFrom)
      openParts = open
      const marks = ends.map((end) => (end === shown.length - 1 ? closedParts.length + open.length - 1 : (lastPart[end] as number)))
      if (marks.includes(-1)) return partsSplitAt(ends, tails)
      const parts = closedParts.concat(open, tails) // allocates the list once, unlike a list of spreads
      return { parts, marks, segments: ends.map(fingerprints.sent) }
    },
  }
}
