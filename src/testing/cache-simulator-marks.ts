import type { TokenCounter } from '../core/estimate/tokens.ts'
import { type Bill, billFor, createSegmenter, type ModelCall, runningTotals, type Segment } from './cache-bills.ts'
import { createPrefixTree, type PrefixNode, walkPrefixes } from './cache-simulator-tree.ts'

const maxMarks = 4
/** Parts looked at from each mark backwards, the marked one included. */
const defaultLookBack = 20

/** Explicit marks with a bounded look-back; the rules are told in cache-simulator.ts. */
export function createMarkCache(options: {
  readonly minimumTokens: number
  readonly ttlSeconds: number
  readonly count: TokenCounter
  readonly lookBack?: number
}) {
  const lookBack = options.lookBack ?? defaultLookBack
  const segmentsOf = createSegmenter(options.count)
  const root = createPrefixTree()

  return {
    call(request: ModelCall): Bill {
      const segments = segmentsOf(request)
      const marks = markedParts(segments)
      const nodes = walkPrefixes(root, segments.slice(0, (marks.at(-1) ?? -1) + 1))
      const totals = runningTotals(segments)
      const goneAt = request.at + options.ttlSeconds
      const hit = Math.max(-1, ...marks.map((mark) => latestLiveEntry(nodes, mark, request.at, lookBack)))

      let written = hit
      for (const [index, node] of nodes.entries()) {
        const read = index === hit || (index < hit && segments[index]?.marked && isLive(node, request.at))
        const writes = index > hit && segments[index]?.marked && (totals[index + 1] as number) >= options.minimumTokens
        if (read || writes) node.expiresAt = goneAt
        if (writes) written = index
      }
      const cacheRead = totals[hit + 1] as number
      const cached = totals[written + 1] as number
      return billFor({ uncached: (totals.at(-1) as number) - cached, cacheRead, cacheWrite: cached - cacheRead })
    },
  }
}

function markedParts(segments: readonly Segment[]): readonly number[] {
  const marks = segments.flatMap(({ marked }, index) => (marked ? [index] : []))
  if (marks.length > maxMarks) throw new RangeError(`A request may carry ${maxMarks} cache marks, this one has ${marks.length}.`)
  const silent = marks.find((index) => segments[index]?.content === '')
  if (silent !== undefined) throw new RangeError(`Part ${silent} is empty: it can not carry a cache mark.`)
  return marks
}

const isLive = (node: PrefixNode | undefined, at: number) => node?.expiresAt !== undefined && node.expiresAt > at

function latestLiveEntry(nodes: readonly PrefixNode[], mark: number, at: number, lookBack: number): number {
  for (let index = mark; index >= 0 && index > mark - lookBack; index--) {
    if (isLive(nodes[index], at)) return index
  }
  return -1
}
