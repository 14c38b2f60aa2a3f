import type { BlobRef, Meta } from '../../core/block/index.ts'
import { cutAt } from '../../core/cut.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import { cutUtf8 } from '../bytes.ts'
import { decodeText, isTextMime, isVisualMime } from '../mime.ts'
import type { MadeArtifact } from '../tool.ts'

/** The fields of a content block that contain the content of an artifact. */
export interface Payload {
  readonly text?: string
  readonly blob?: BlobRef
  readonly note?: string
  readonly meta?: Meta
}

/** The model sees images and PDFs up to this size. Larger files would take too much of its context. */
const maxVisibleBytes = 750_000
const maxTextBytes = 20_000
const maxNoteLength = 2_000

/**
 * Stores an artifact, so that its complete content can be read again:
 *
 *   text               in the block; for long text, the block has a preview and `keeps` has the bytes
 *   image, PDF         as the blob of the block, which the model can see
 *   any other bytes    in `keeps` only; the model does not see them, but `react.pull` finds the file
 */
export async function payloadOf(made: MadeArtifact, bytes: Uint8Array | undefined, blobs: Pick<BlobStore, 'put'>): Promise<Payload> {
  const keep = async () => (bytes === undefined ? {} : { keeps: [await blobs.put(bytes)] })
  if (made.note !== undefined) return notePayload(made.note, made, keep)
  if (made.isPatch) return { text: made.text ?? '', meta: { is_patch: true, ...(await keep()) } }
  if (made.text !== undefined)
    return made.bytes === undefined ? { text: made.text } : { text: made.text, meta: { partial: true, ...(await keep()) } }
  if (bytes === undefined) return {}
  if (made.withoutContent) return { meta: await keep() }
  const text = isTextMime(made.mime) ? decodeText(bytes) : undefined
  if (text !== undefined) {
    const encoded = Buffer.from(text)
    if (encoded.length > maxTextBytes)
      return { text: `${cutUtf8(encoded, maxTextBytes)}...[truncated]`, meta: { partial: true, ...(await keep()) } }
    // The text alone does not preserve the charset and the byte order mark, so the bytes are stored too.
    return encoded.equals(bytes) ? { text } : { text, meta: await keep() }
  }
  if (!isVisualMime(made.mime)) return { meta: await keep() }
  if (bytes.length <= maxVisibleBytes) return { blob: await blobs.put(bytes) }
  return {
    meta: { ...(await keep()), multimodal_status: 'too_large_for_visible_context', hint: 'work on it in code, by its physical path' },
  }
}

/** The content of an internal note. A long note is shortened in the timeline. The file has the whole note. */
async function notePayload(note: string, { digest, bytes }: MadeArtifact, keep: () => Promise<Meta>): Promise<Payload> {
  if (note.length <= maxNoteLength) return bytes === undefined ? { note } : { note, meta: await keep() }
  return {
    note: `${cutAt(note, maxNoteLength)}\n… the whole note is at ${digest.artifact_path}`,
    meta: { partial: true, ...(await keep()) },
  }
}
