import fc from 'fast-check'
import { expect, it } from 'vitest'
import { startHash, updateBothHashes, updateHash } from './hash.ts'

it('updates two hashes exactly as two single updates do', () => {
  const text = fc.string({ unit: 'binary', maxLength: 200 })
  fc.assert(
    fc.property(text, text, text, (firstBefore, secondBefore, added) => {
      const state = (...pieces: readonly string[]) => {
        const hash = startHash()
        for (const piece of pieces) updateHash(hash, piece)
        return hash
      }
      const [first, second] = [state(firstBefore), state(secondBefore)]
      updateBothHashes(first, second, added)
      expect([first, second]).toEqual([state(firstBefore, added), state(secondBefore, added)])
    }),
  )
})
