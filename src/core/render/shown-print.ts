import type { ShownFingerprints } from '../timeline/change.ts'
import type { Fingerprints } from './fingerprints.ts'

export interface FingerprintRecorder {
  /** What is new against the prompt before, as it was written down; `texts` keeps the blocks themselves, too. */
  record(prints: Fingerprints, before: ShownFingerprints | undefined, options: { readonly texts: boolean }): ShownFingerprints
}

/** Remembers what it printed last: where the past was edited since, only what follows the edit is written down again. */
export function createFingerprintRecorder(): FingerprintRecorder {
  let last: { readonly prints: Fingerprints; readonly count: number; readonly chain: number } | undefined

  return {
    record(prints, before, { texts }) {
      const from = before ? commonPrefix(before, prints, last) : 0
      const count = prints.count()
      const chain = prints.chain(count)
      last = { prints, count, chain }
      const print = { from, hashes: prints.blocks(from), chain }
      return texts ? { ...print, texts: prints.texts(from) } : print
    },
  }
}

export const shownCount = ({ from, hashes }: ShownFingerprints): number => from + hashes.length

function commonPrefix(
  before: ShownFingerprints,
  prints: Fingerprints,
  last: { readonly prints: Fingerprints; readonly count: number; readonly chain: number } | undefined,
): number {
  const count = shownCount(before)
  if (count <= prints.count() && prints.chain(count) === before.chain) return count
  if (last?.chain !== before.chain) return 0 // another process made it: what it showed one by one is not known here
  let common = 0
  while (common < Math.min(last.count, prints.count()) && last.prints.block(common) === prints.block(common)) common++
  return common
}
