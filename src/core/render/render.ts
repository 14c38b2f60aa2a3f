import type { BlockBuffer, Timeline } from '../timeline/timeline.ts'
import { maxMarks } from './cache-points.ts'
import { coalesce, sameRun } from './coalesce.ts'
import { chainParts, createFingerprints, type Fingerprints } from './fingerprints.ts'
import { textPart } from './text.ts'
import type { Part, RenderSettings, Slice } from './types.ts'
import { createWalk, currentTurn, defaultSettings, type RenderedBlock, type Walk } from './walk.ts'

/** The message a model reads: stable parts, then the tails. */
export interface Prompt {
  readonly parts: readonly Part[]
  /** Indices of the parts that carry a cache mark, ascending; never in the tails. */
  readonly marks: readonly number[]
  /** How many parts come before the tails. */
  readonly stableParts: number
  /** The shown blocks that the marks stand behind, by position: one for each mark. */
  readonly points: readonly number[]
  /** Hash of everything up to and with each mark. */
  readonly segments: readonly number[]
}

export interface RenderOptions {
  readonly currentTurnId: string
  /** Where the provider may cut its cache, as positions in the slice; the slice is lent for the call, not given. */
  readonly points: (slice: Slice) => readonly number[]
  readonly sources?: string | undefined
  readonly announce?: string | undefined
}

/** Looks at timelines and says what a model is shown. It remembers what it has seen, so that a render costs what is new. */
export interface Renderer {
  slice(timeline: Timeline, currentTurnId?: string): Slice
  /** The same, lent: true until the next look at another timeline. */
  peek(timeline: Timeline, currentTurnId: string): Slice
  render(timeline: Timeline, options: RenderOptions): Prompt
  /** What is shown, by hash; it grows with the timeline, until that is edited. */
  fingerprints(timeline: Timeline): Fingerprints
}

export function createRenderer(settings: RenderSettings = defaultSettings): Renderer {
  let last: Layout | undefined

  function layoutOf(timeline: Timeline): Layout {
    const { buffer: spine, size } = timeline
    if (last?.spine !== spine || last.size() > size) last = createLayout(createWalk(timeline, settings, last))
    else if (last.size() < size) last.extend(timeline)
    return last
  }

  return {
    fingerprints: (timeline) => layoutOf(timeline).fingerprints,
    peek: (timeline, currentTurnId) => layoutOf(timeline).peek(currentTurnId),
    slice: (timeline, currentTurnId) => layoutOf(timeline).slice(currentTurnId ?? currentTurn(timeline)),
    render(timeline, { currentTurnId, points, sources, announce }) {
      const layout = layoutOf(timeline)
      const wanted = validPoints(points(layout.peek(currentTurnId)), layout)
      const tails = tailParts(sources, announce)
      const { parts, marks, segments } = layout.parts(wanted, tails)
      for (const index of marks) parts[index] = withCacheMark(parts[index] as Part)
      return { parts, marks, stableParts: parts.length - tails.length, points: wanted, segments }
    },
  }
}

function tailParts(sources = '', announce = ''): readonly Part[] {
  const tail = (text: string) => textPart(`${text}\n\n`)
  if (sources === '') return announce === '' ? [] : [tail(announce)]
  return announce === '' ? [tail(sources)] : [tail(sources), tail(announce)]
}

const withCacheMark = (part: Part): Part =>
  part.type === 'text' ? { type: 'text', text: part.text, cache: true } : { ...part, cache: true }

/** The last few of the points that exist, ascending, each once. Nearly always that is what was given. */
function validPoints(points: readonly number[], layout: Pick<Layout, 'has'>): readonly number[] {
  let last = -1
  for (const point of points) {
    if (point <= last || !layout.has(point)) return [...new Set(points.filter(layout.has))].sort((a, b) => a - b).slice(-maxMarks)
    last = point
  }
  return points.length > maxMarks ? points.slice(-maxMarks) : points
}

interface Layout {
  readonly lines: readonly RenderedBlock[]
  readonly fingerprints: Fingerprints
  readonly spine: BlockBuffer
  size(): number
  extend(timeline: Timeline): void
  slice(turnId: string | undefined): Slice
  peek(turnId: string | undefined): Slice
  has(position: number): boolean
  /** A fresh list of all parts and the tails, and the index of the last part of each position in `ends`. */
  parts(ends: readonly number[], tails: readonly Part[]): PartLayout
}

interface PartLayout {
  readonly parts: Part[]
  readonly marks: readonly number[]
  readonly segments: readonly number[]
}

/**
 * The lines of a walk as parts. A run is closed when the next one begins; only the last run can still grow, so it alone is put
 * together again.
 *
 *   closed parts   [ header ][ prompt ][ round 0 ][ image ][ round 1 ]      open run: round 2, still growing
 *   last part of       0         1         ·   3       ·       4            by position; · inside a run
 */
function createLayout(walk: Walk): Layout {
  const closed: Part[] = []
  const lastPart: number[] = [] // by position; -1 inside a run
  const prints = createFingerprints(walk.lines)
  let openFrom = 0 // position of the open run's first line
  let openParts: readonly Part[] | undefined
  let laid = 0

  function layOut() {
    for (; laid < walk.lines.length; laid++) {
      if (laid > openFrom && !sameRun(walk.lines[laid - 1] as RenderedBlock, walk.lines[laid] as RenderedBlock)) close()
      lastPart.push(-1)
      openParts = undefined
    }
  }

  function close() {
    for (const part of openParts ?? coalesce(walk.lines, openFrom, laid)) closed.push(part)
    lastPart[laid - 1] = closed.length - 1
    openFrom = laid
  }

  /** Marks only ever sit on the ends of runs; a point inside one ends the part there. */
  function cutAt(ends: readonly number[], tails: readonly Part[]): PartLayout {
    const cuts = new Set(ends)
    const parts: Part[] = []
    const marks: number[] = []
    let from = 0
    walk.lines.forEach((line, position) => {
      const next = walk.lines[position + 1]
      if (next && sameRun(line, next) && !cuts.has(position)) return
      parts.push(...coalesce(walk.lines, from, position + 1))
      from = position + 1
      if (cuts.has(position)) marks.push(parts.length - 1)
    })
    const chain = chainParts(0, parts)
    return { parts: [...parts, ...tails], marks, segments: marks.map((mark) => chain[mark] as number) }
  }

  layOut()
  return {
    lines: walk.lines,
    fingerprints: prints,
    spine: walk.spine,
    size: () => walk.size,
    extend(timeline) {
      walk.extend(timeline)
      layOut()
    },
    slice: walk.slice,
    peek: walk.peek,
    has: (position) => Number.isInteger(position) && position >= 0 && position < walk.lines.length,
    parts(ends, tails) {
      openParts ??= coalesce(walk.lines, openFrom)
      const marks = new Array<number>(ends.length)
      const segments = new Array<number>(ends.length)
      for (let index = 0; index < ends.length; index++) {
        const position = ends[index] as number
        const mark = position === walk.lines.length - 1 ? closed.length + openParts.length - 1 : (lastPart[position] as number)
        if (mark === -1) return cutAt(ends, tails)
        marks[index] = mark
        segments[index] = prints.sent(position)
      }
      return { parts: closed.concat(openParts, tails), marks, segments }
    },
  }
}

/** The prompt as a person reads it: what goldens keep and `daybook show` prints. */
export function promptText({ parts, stableParts }: Pick<Prompt, 'parts' | 'stableParts'>): string {
  const drawn = parts.map((part, index) => {
    const tail = index === stableParts ? `${rule(' not cached from here on ')}\n\n` : ''
    return tail + drawPart(part) + (part.cache ? `${rule(' cache point ')}\n\n` : '')
  })
  return `${drawn.join('').trimEnd()}\n`
}

const rule = (label: string) => `────${label}────`

function drawPart(part: Part): string {
  if (part.type === 'text') return part.text.endsWith('\n\n') ? part.text : `${part.text}\n\n`
  const size = part.base64 === undefined ? `size=${part.blob.size}` : `b64_len=${part.base64.length}`
  return `<${part.type} media_type=${part.media_type} ${size}>\n\n`
}
