/**
 * The highest number of SIDs that are read from a selector. A selector is a list such as `1, 3-5`. The same limit applies to the tokens
 * between its commas. A limit for the tokens alone is not enough, because one token such as `1-1000000000` can name many SIDs.
 */
export const maximumSids = 10_000

/** The SIDs that a selector such as `1, 3-5` names. */
interface Selection {
  /** The SIDs in ascending order, each once. */
  readonly sids: readonly number[]
  /**
   * True when the selector has more than `maximumSids` tokens or names more than `maximumSids` SIDs. In this case the tokens after the
   * limit are not read, and `sids` contains the lowest SIDs of the tokens before the limit.
   */
  readonly truncated: boolean
}

interface Range {
  readonly from: number
  readonly to: number
}

/** Parses a list of SIDs such as `1, 3-5`. A range may also be written as `3:5` or `5-3`. Tokens of another form are skipped. */
export function parseSelector(text: string): Selection {
  const { ranges, cut } = parseRanges(text)
  const sids: number[] = []
  let next = 1
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    next = Math.max(next, from)
    while (next <= to) {
      if (sids.length === maximumSids) return { sids, truncated: true }
      sids.push(next++)
    }
  }
  return { sids, truncated: cut }
}

/** Formats `[3, 5, 6]` as `3, 5-6`. The SIDs may be in any order. Duplicates and numbers that are not positive integers are left out. */
export function formatSelector(sids: Iterable<number>): string {
  const ordered = [...new Set(sids)].filter((sid) => Number.isSafeInteger(sid) && sid > 0).sort((a, b) => a - b)
  const ranges: Range[] = []
  for (const sid of ordered) {
    const last = ranges.at(-1)
    if (last !== undefined && last.to === sid - 1) ranges[ranges.length - 1] = { from: last.from, to: sid }
    else ranges.push({ from: sid, to: sid })
  }
  return ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}

function parseRanges(text: string): { readonly ranges: readonly Range[]; readonly cut: boolean } {
  const ranges: Range[] = []
  let start = 0
  for (let tokens = 0; start <= text.length; tokens++) {
    if (tokens === maximumSids) return { ranges, cut: true }
    const comma = text.indexOf(',', start)
    const end = comma === -1 ? text.length : comma
    const range = parseRange(text, start, end)
    if (range !== undefined) ranges.push(range)
    start = end + 1
  }
  return { ranges, cut: false }
}

// JavaScript represents every number of up to 15 digits exactly. `parseRange` skips tokens of more than 64 characters, so that the pattern
// never runs on a long text.
const tokenShape = /^\s*(\d{1,15})\s*(?:[-:]\s*(\d{1,15})\s*)?$/

function parseRange(text: string, start: number, end: number): Range | undefined {
  const match = end - start > 64 ? null : tokenShape.exec(text.slice(start, end))
  if (match === null) return undefined
  const first = Number(match[1])
  const second = match[2] === undefined ? first : Number(match[2])
  return { from: Math.min(first, second), to: Math.max(first, second) }
}
