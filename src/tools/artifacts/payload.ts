import type { BlobRef, Meta } from '../../core/block/index.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import { decodeText, isTextMime } from '../mime.ts'
import type { MadeArtifact } from '../tool.ts'

/** What a content block holds of an artifact. */
export interface Payload {
  readonly text?: string
  readonly blob?: BlobRef
  readonly note?: string
  readonly meta?: Meta
}

/** More of an image or a PDF than this does not fit into what a model is shown of a conversation. */
const maxVisibleBytes = 750_000
const maxTextBytes = 20_000
const maxNoteLength = 2_000

/**
 * How an artifact is kept, so that all of it can be had again:
 *
 *   text                   the block holds it, or a part of it and keeps the whole
 *   image, PDF             the block stands for the bytes, and a model can be shown them
 *   everything else        the block only keeps the bytes: nothing is shown, but whoever pulls the file finds them
 */
export async function payloadOf(made: MadeArtifact, bytes: Uint8Array | undefined, blobs: Pick<BlobStore, 'put'>): Promise<Payload> {
  const keep = async () => (bytes === undefined ? {} : { keeps: [await blobs.put(bytes)] })
  if (made.note !== undefined) return notePayload(made.note, made.digest.artifact_path, keep)
  if (made.isPatch) return { text: made.text ?? '', meta: { is_patch: true, ...(await keep()) } }
  if (made.text !== undefined)
    return made.bytes === undefined ? { text: made.text } : { text: made.text, meta: { partial: true, ...(await keep()) } }
  if (bytes === undefined) return {}
  const text = isTextMime(made.mime) ? decodeText(bytes) : undefined
  if (text !== undefined) {
    const written = Buffer.from(text)
    if (written.length > maxTextBytes) return { text: `${truncateUtf8(written)}...[truncated]`, meta: { partial: true, ...(await keep()) } }
    return written.equals(bytes) ? { text } : { text, meta: await keep() } // a mark, or another charset: the bytes are more than the text
  }
  if (!isVisual(made.mime)) return { meta: await keep() }
  if (bytes.length <= maxVisibleBytes) return { blob: await blobs.put(bytes) }
  return {
    meta: { ...(await keep()), multimodal_status: 'too_large_for_visible_context', hint: 'work on it in code, by its physical path' },
  }
}

/** A beacon is short; the file has everything. */
async function notePayload(note: string, path: string, keep: () => Promise<Meta>): Promise<Payload> {
  if (note.length <= maxNoteLength) return { note }
  return { note: `${truncateText(note, maxNoteLength)}\n… the whole note is at ${path}`, meta: { partial: true, ...(await keep()) } }
}

const isVisual = (mime: string) => mime === 'application/pdf' || /^image\/(?:png|jpeg|gif|webp)$/.test(mime)

/** Never half a character. */
function truncateUtf8(bytes: Uint8Array): string {
  let end = maxTextBytes
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return Buffer.from(bytes.subarray(0, end)).toString('utf8')
}

export function truncateText(text: string, length: number): string {
  const kept = text.slice(0, length)
  return /[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept
}
