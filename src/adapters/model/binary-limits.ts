import type { BinaryPart, Part } from '../../core/render/types.ts'

/**
 * The limits of a provider for the images and documents of one request. Images and documents above these limits are not sent. Every request
 * of a conversation contains its earlier images and documents again, so a single one that the provider refuses would make every later
 * request fail.
 */
export interface BinaryLimits {
  /** The greatest size of one image or document, in bytes. */
  readonly bytes: number
  /** The greatest size of all images and documents together, in bytes. */
  readonly totalBytes: number
  /** The greatest number of images and documents together. */
  readonly count: number
  /** The greatest width and height of an image, in pixels. */
  readonly pixels: number
  /** Another limit for the width and height of each image, in requests with more than `many.count` images. */
  readonly many?: { readonly count: number; readonly pixels: number }
  /** The greatest number of pages of one document. */
  readonly pages: number
}

/** Why an image or document is not sent. */
export type Omission = 'type' | 'size' | 'number' | 'refused'

/** The media types that a provider accepts, and its limits. */
interface BinaryRules {
  readonly images: readonly string[]
  readonly documents: readonly string[]
  readonly binaries: BinaryLimits
}

/**
 * The parts that are not sent, by index, with the reason. If all together are too many or too large, the newest are sent. `refused` has
 * the hashes of the images and documents that the provider has refused before.
 */
export function omittedParts(parts: readonly Part[], rules: BinaryRules, refused: ReadonlySet<string>): ReadonlyMap<number, Omission> {
  const omitted = new Map<number, Omission>()
  const isSent = (part: Part): part is BinaryPart => part.type !== 'text'
  for (const [index, part] of parts.entries()) {
    const reason = isSent(part) ? omissionOf(part, rules, refused) : undefined
    if (reason) omitted.set(index, reason)
  }
  const { binaries } = rules
  const { many } = binaries
  const sent = () => parts.flatMap((part, index) => (isSent(part) && !omitted.has(index) ? [{ part, index }] : []))
  if (many && sent().filter(({ part }) => part.type === 'image').length > many.count) {
    for (const { part, index } of sent()) if (isWider(part, many.pixels)) omitted.set(index, 'size')
  }
  let [count, bytes] = [0, 0]
  for (const { part, index } of sent().toReversed()) {
    count++
    bytes += part.blob.size
    if (count > binaries.count || bytes > binaries.totalBytes) omitted.set(index, 'number')
  }
  return omitted
}

function omissionOf(part: BinaryPart, { images, documents, binaries }: BinaryRules, refused: ReadonlySet<string>): Omission | undefined {
  if (!(part.type === 'image' ? images : documents).includes(part.media_type)) return 'type'
  if (part.blob.size > binaries.bytes || isWider(part, binaries.pixels) || (part.pages ?? 0) > binaries.pages) return 'size'
  return refused.has(part.blob.sha256) ? 'refused' : undefined
}

const isWider = ({ type, width = 0, height = 0 }: BinaryPart, pixels: number): boolean =>
  type === 'image' && (width > pixels || height > pixels)

const reasons: { readonly [O in Omission]: (type: string) => string } = {
  type: (type) => `This model takes no ${type}s of that type`,
  size: (type) => `This ${type} is too large for the model`,
  number: (type) => `There are too many newer ${type}s for one request`,
  refused: (type) => `The model service refused this ${type}`,
}

/** The text in place of an image or document that is not sent. It tells what the model can do instead. */
export function placeholderText({ type, media_type, blob }: BinaryPart, omission: Omission): string {
  const instead = type === 'document' ? 'react.read of its path gives its text, where it has any' : 'say so if the user asks about it'
  return `[${type} not shown: ${media_type}, ${blob.size} bytes. ${reasons[omission](type)}; ${instead}.]\n\n`
}

/** The hashes of all images and documents that are sent. */
export const sentHashes = (parts: readonly Part[], omitted: ReadonlyMap<number, Omission>): readonly string[] =>
  parts.flatMap((part, index) => (part.type === 'text' || omitted.has(index) || part.blob.sha256 === '' ? [] : [part.blob.sha256]))
