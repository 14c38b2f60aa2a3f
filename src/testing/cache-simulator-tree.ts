import type { Segment } from './cache-bills.ts'

/** Prefixes that share their beginning share nodes: a prefix is one node, whoever sent it and however often. */
export interface PrefixNode {
  readonly next: Map<string, PrefixNode>
  /** The first moment at which this prefix is no longer kept; undefined when it never was. */
  expiresAt: number | undefined
}

export const createPrefixTree = (): PrefixNode => ({ next: new Map(), expiresAt: undefined })

/** One node per segment: the prefix that ends with it. */
export function walkPrefixes(root: PrefixNode, segments: readonly Segment[]): readonly PrefixNode[] {
  let node = root
  return segments.map(({ content }) => {
    const known = node.next.get(content) ?? createPrefixTree()
    node.next.set(content, known)
    node = known
    return known
  })
}
