import { partTokens } from '../estimate/binary.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import type { Slice } from '../render/slice.ts'
import type { Part } from '../render/types.ts'

export function tokensOf(parts: readonly Part[], count: TokenCounter): number {
  return parts.reduce((sum, part) => sum + (part.type === 'text' ? count(part.text) : partTokens(part)), 0)
}

/** What lies after the frozen part, seen from the end. */
export interface TailTokens {
  /** Tokens from this position to the end of the slice. Positions at or before the frozen part are not asked for. */
  readonly tokensFrom: (position: number) => number
  /** The first position that may be edited: it and all after it fit into `limit` tokens. The slice's length when none may. */
  readonly editableFrom: (limit: number) => number
}

export function measureTail(slice: Slice, frozen: number, count: TokenCounter): TailTokens {
  const first = frozen + 1
  const sums: number[] = []
  let sum = 0
  for (let position = slice.shown.length - 1; position >= first; position--) {
    sum += tokensOf(slice.shown[position]?.parts ?? [], count)
    sums[position - first] = sum
  }
  return {
    tokensFrom: (position) => sums[position - first] ?? 0,
    editableFrom: (limit) => {
      const offset = sums.findIndex((tokens) => tokens <= limit)
      return offset === -1 ? slice.shown.length : first + offset
    },
  }
}
