import { type Block, blockId } from '../../src/core/block/index.ts'
import type { Change } from '../../src/core/timeline/change.ts'

/**
 * The nth block. The parent computes the same block, so it can check that a child wrote it completely. Some blocks have a large text,
 * some have bytes.
 */
export function blockNumber(n: number, author: string): Block {
  const text = n % 3 === 0 ? `${n} `.repeat(4_000) : `block ${n}`
  const bytes = n % 4 === 0 ? { base64: Buffer.from(`bytes of ${n} `.repeat(50)).toString('base64'), mime: 'image/png' } : {}
  return {
    id: blockId(n),
    type: 'user.prompt',
    author,
    turn_id: 't1',
    ts: '2026-01-01T00:00:00.000Z',
    path: `ar:t1.p${n % 10}`,
    text,
    ...bytes,
  }
}

/**
 * The two changes of the nth append. The store must write both or none. In every seventh append, the second change compacts all blocks
 * before it.
 */
export function changesFrom(n: number, author: string): readonly Change[] {
  const first: Change = { type: 'blocks.appended', blocks: [blockNumber(n, author)] }
  const second: Change =
    n % 14 === 1
      ? { type: 'range.compacted', after_id: blockId(n), blocks: [blockNumber(n + 1, author)], covered: [] }
      : { type: 'blocks.appended', blocks: [blockNumber(n + 1, author)] }
  return [first, second]
}
