import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Embedder } from '../../src/ports/embedder.ts'

/** The vector of a text: numbers of its hash. The same text has the same vector in every process. */
export function testVector(text: string, dimensions: number): Float32Array {
  const bytes = createHash('sha256').update(text).digest().subarray(0, dimensions)
  const length = Math.hypot(...bytes) || 1
  return Float32Array.from(bytes, (byte) => byte / length)
}

/** An embedder that needs a moment for each request. */
export const createTestEmbedder = (dimensions: number): Embedder => ({
  name: 'test',
  async embed(texts) {
    await sleep(1)
    return texts.map((text) => testVector(text, dimensions))
  },
})
