import type { Digest } from '../../core/block/index.ts'
import { filePath } from '../../core/path/build.ts'
import { inspect } from '../attachments/inspect.ts'
import { defaultAttachmentLimits, isRefusal } from '../attachments/upload.ts'
import type { Call, MadeArtifact } from '../tool.ts'

const extensions: Readonly<Record<string, string>> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/gif': 'gif', 'image/webp': 'webp' }

/** An image of the web, stored as a file of the turn so that the model sees it, or the reason why it is not shown. */
export type FetchedImage = { readonly artifact: MadeArtifact; readonly path: string; readonly mime: string } | { readonly error: string }

/**
 * Stores an image as an internal file of the turn. It is checked like an image that a user attaches, because it may be hostile. Its type is
 * detected from its bytes, because servers often declare a wrong type. `number` is the position of its address in the call.
 */
export async function storeImage(bytes: Uint8Array, number: number, call: Call): Promise<FetchedImage> {
  const facts = await inspect({ name: 'image', bytes }, defaultAttachmentLimits, undefined)
  if (isRefusal(facts)) return { error: `the image ${facts.words}` }
  const extension = extensions[facts.mime]
  if (extension === undefined) return { error: `the content is no image but ${facts.mime}` }
  const { turnId, callId } = call.origin
  const name = `web-${callId}-${number}.${extension}`
  const physical = `${turnId}/outputs/${name}`
  const { files } = await call.workspace()
  await files.write(physical, bytes)
  const path = filePath(turnId, 'outputs', name)
  const digest: Digest = {
    artifact_path: path,
    physical_path: physical,
    mime: facts.mime,
    kind: 'file',
    visibility: 'internal',
    size_bytes: bytes.length,
  }
  return { artifact: { digest, mime: facts.mime, bytes }, path, mime: facts.mime }
}
