import type { Part } from '../../core/render/types.ts'
import type { MarkRules } from './provider-rules.ts'

/**
 * Which parts carry a mark on the wire. The system text takes one; of the others the latest go, because each covers those before it.
 * Where an entry is found only under a mark, the end of the call before is marked once more: that is where it was written.
 */
export function selectMarks(parts: readonly Part[], rules: MarkRules, previousEnd: number | undefined): ReadonlySet<number> {
  const room = rules.maxMarks - 1
  if (room < 1) return new Set()
  const wanted = parts.flatMap(({ cache }, index) => (cache ? [index] : []))
  const last = wanted.at(-1)
  const again = rules.lookBack === 1 && previousEnd !== undefined && last !== undefined && previousEnd < last ? [previousEnd] : []
  return new Set([...new Set([...again, ...wanted])].sort((a, b) => a - b).slice(-room))
}

/** Where the latest call of each conversation ended its cached beginning. Forgets the oldest: then one call is dearer, no more. */
export function createCacheEnds(most = 1_000) {
  const ends = new Map<string, number>()
  return {
    of: (conversation: string): number | undefined => ends.get(conversation),
    set(conversation: string, end: number | undefined): void {
      ends.delete(conversation)
      if (end === undefined) return
      ends.set(conversation, end)
      for (const oldest of ends.keys()) if (ends.size > most) ends.delete(oldest)
    },
  }
}
