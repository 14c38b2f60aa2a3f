import type { BlobRef, Block } from '../../core/block/index.ts'
import { hasWholeContent } from '../../core/timeline/artifacts.ts'
import { isTextMime } from '../mime.ts'

/** The whole of a file, as a block recorded it. */
export type RecordedContent = { readonly block: Block } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'blob'; readonly blob: BlobRef }
  | { readonly kind: 'base64'; readonly base64: string }
)

/** The newest content among blocks of one path, oldest first. Never a preview, never a diff, and nothing older than an unkept patch. */
export function* recordedContents(blocks: readonly Block[]): Generator<RecordedContent> {
  for (let at = blocks.length - 1; at >= 0; at--) {
    const block = blocks[at] as Block
    const found = recordedContentOf(block)
    if (found) yield found
    else if (block.meta?.is_patch === true) return // what it was before the patch is not what it is
  }
}

/** What a block keeps is the whole, whatever it shows. */
function recordedContentOf(block: Block): RecordedContent | undefined {
  const { base64, text, mime = '' } = block
  const blob = block.meta?.keeps?.[0] ?? block.blob
  if (blob !== undefined) return { kind: 'blob', blob, block }
  if (base64 !== undefined) return { kind: 'base64', base64, block }
  return text !== undefined && hasWholeContent(block) && isTextMime(mime) ? { kind: 'text', text, block } : undefined
}
