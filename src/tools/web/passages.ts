import { cutAt, cutBetween } from '../../core/cut.ts'

/** A passage of a text: its first words and its last words, exactly as they are in the text. Empty last words mean the end of the text. */
export interface Span {
  readonly s: string
  readonly e: string
}

const anchorChars = { min: 3, max: 150 }
const minPassage = 200
/** A short passage at the very beginning is left out, because it is probably a menu or a title. */
const startPassage = { from: 50, length: 300 }
const paddingChars = 600
const maxGap = 400
const maxTotal = 30_000

/**
 * The passages of a text, with some text around them. Undefined if no span is in the text. If the passages are almost the whole text, the
 * text is returned unchanged.
 */
export function selectPassages(content: string, spans: readonly Span[]): string | undefined {
  const ranges = spans
    .map((span) => rangeOf(content, span))
    .filter((range) => range !== undefined)
    .map(([from, to]): Range => [Math.max(0, from - paddingChars), Math.min(content.length, to + paddingChars)])
  if (ranges.length === 0) return undefined
  const merged = mergeRanges(ranges.toSorted(([a], [b]) => a - b))
  const covered = merged.reduce((sum, [from, to]) => sum + to - from, 0)
  if (covered >= content.length * 0.98) return content
  return cutAt(merged.map(([from, to]) => cutBetween(content, from, to)).join('\n\n[…]\n\n'), maxTotal)
}

type Range = readonly [from: number, to: number]

/** The position of a span in the text. Undefined if the text does not have its words in this order, or if the passage is too short. */
function rangeOf(content: string, { s, e }: Span): Range | undefined {
  if (!isAnchor(s) || (e !== '' && !isAnchor(e))) return undefined
  const from = content.indexOf(s)
  if (from < 0) return undefined
  const last = e === '' ? content.length : content.indexOf(e, from + s.length)
  if (last < 0) return undefined
  const to = last + e.length
  const isStart = from < startPassage.from && to - from < startPassage.length
  return to - from < minPassage || isStart ? undefined : [from, to]
}

const isAnchor = ({ length }: string) => length >= anchorChars.min && length <= anchorChars.max

function mergeRanges(sorted: readonly Range[]): readonly Range[] {
  const merged: Range[] = []
  for (const [from, to] of sorted) {
    const last = merged.at(-1)
    if (last && from - last[1] < maxGap) merged[merged.length - 1] = [last[0], Math.max(last[1], to)]
    else merged.push([from, to])
  }
  return merged
}
