import type { Segment } from './cache-simulator-bill.ts'

/** Prefixes that share their beginning share nodes: a prefix is one node, whoever sent it and however often. */
export interface PrefixNode {
  readonly next: Map<string, PrefixNode>
  /** The first moment at which this prefix is no longer kept; undefined when it never was. */
  goneAt: number | undefined
}

export const emptyTree = (): PrefixNode => ({ next: new Map(), goneAt: undefined })

/** One node per segment: the prefix that ends with it. */
export function walk(root: PrefixNode, segments: readonly Segment[]): readonly PrefixNode[] {
  let node = root
  return segments.map(({ content }) => {
    const known = node.next.get(content) ?? emptyTree()
    node.next.set(content, known)
    node = known
    return known
  })
}
