/** Neither more tokens than this are read, nor more ids than this are given: `1-1000000000` is one token. */
export const maximumSids = 10_000

export interface Selection {
  /** Ascending, unique. */
  readonly sids: readonly number[]
  /** More was asked for than a selection may hold: these are the lowest ids of what was read. */
  readonly truncated: boolean
}

interface Range {
  readonly from: number
  readonly to: number
}

/** Reads `1, 3-5`; also `3:5` and `5-3`. Tokens that are neither an id nor a range are skipped. */
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

/** `[3, 5, 6]` is `3, 5-6`. Any order, duplicates and non-ids are tolerated. */
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

// 15 digits stay exact as numbers. Longer tokens can be no id; 64 leaves room for spaces and is never copied from a hostile string.
const tokenShape = /^\s*(\d{1,15})\s*(?:[-:]\s*(\d{1,15})\s*)?$/

function parseRange(text: string, start: number, end: number): Range | undefined {
  const match = end - start > 64 ? null : tokenShape.exec(text.slice(start, end))
  if (match === null) return undefined
  const first = Number(match[1])
  const second = match[2] === undefined ? first : Number(match[2])
  return { from: Math.min(first, second), to: Math.max(first, second) }
}
