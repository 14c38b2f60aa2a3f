import type { Block } from '../block/block.ts'
import { binaryContentOf } from '../estimate/binary.ts'
import type { ExpirySettings } from './settings.ts'

export const isImageOrPdf = (block: Block): boolean =>
  binaryContentOf(block) !== undefined && (block.mime === 'application/pdf' || block.mime?.startsWith('image/') === true)

export const base64Chars = (block: Block): number => Math.ceil(((binaryContentOf(block)?.size ?? 0) * 4) / 3)

/**
 * Paths whose images and PDFs stay in sight: the newest, until there are enough or they are too large together. The first always stays.
 * `blocks` are those of turns that are not old, oldest first.
 */
export function picturesToKeep(
  blocks: readonly Block[],
  settings: Pick<ExpirySettings, 'keepPictures' | 'maxPicturesBase64Chars'>,
): ReadonlySet<string> {
  const kept = new Set<string>()
  let sum = 0
  for (const block of blocks.toReversed()) {
    if (!isImageOrPdf(block) || block.path === undefined || kept.has(block.path)) continue
    sum += base64Chars(block)
    if (kept.size >= settings.keepPictures || (kept.size > 0 && sum > settings.maxPicturesBase64Chars)) break
    kept.add(block.path)
  }
  return kept
}
