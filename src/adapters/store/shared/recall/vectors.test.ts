import { expect, it } from 'vitest'
import { createSimilar } from './vectors.ts'

it('compares a vector at any position of a buffer', () => {
  const numbers = Buffer.from(Float32Array.of(0.6, 0.8).buffer)
  const similar = createSimilar(Float32Array.of(0.6, 0.8))
  const rows = [0, 1, 2, 3].map((from) => ({ number: from, body: Buffer.concat([Buffer.alloc(from), numbers]).subarray(from) }))
  similar.add(rows, () => true)
  expect([...similar.numbers()].sort()).toEqual([0, 1, 2, 3])
})
