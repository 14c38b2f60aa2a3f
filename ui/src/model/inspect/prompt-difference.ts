import type { Segment } from './prompt-segments.ts'

/** How a block differs between two prompts: it is equal, changed, added or removed. */
export interface SegmentChange {
  readonly kind: 'same' | 'changed' | 'added' | 'removed'
  readonly before: Segment | undefined
  readonly now: Segment | undefined
}

/** Compares two prompts block by block, in the order of the later prompt. A removed block is listed at its earlier position. */
export function promptDifference(before: readonly Segment[], now: readonly Segment[]): readonly SegmentChange[] {
  const present = new Set(now.map(({ key }) => key))
  const earlier = new Map(before.map((segment) => [segment.key, segment]))
  const changes: SegmentChange[] = []
  let next = 0
  const addRemoved = (until: string | undefined) => {
    for (; next < before.length && before[next]?.key !== until; next++) {
      const segment = before[next]
      if (segment && !present.has(segment.key)) changes.push({ kind: 'removed', before: segment, now: undefined })
    }
    if (until !== undefined) next++
  }
  for (const segment of now) {
    const was = earlier.get(segment.key)
    if (was) addRemoved(segment.key)
    changes.push({ kind: was ? (was.text === segment.text ? 'same' : 'changed') : 'added', before: was, now: segment })
  }
  addRemoved(undefined)
  return changes
}
