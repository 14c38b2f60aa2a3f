import type { FileSummary } from '../api/conversation.ts'
import { type Block, readDigest } from '../block/index.ts'
import { parsePath } from '../path/logical.ts'

/**
 * The newest version of each file in these blocks that users can download: files that they attached, and files that the agent made for
 * them.
 */
export function fileSummaries(blocks: readonly Block[]): readonly FileSummary[] {
  return [...new Map(blocks.flatMap((block) => summaryOf(block).map((file) => [file.logical_path, file]))).values()]
}

/** The summary of the file in a block. Empty if the file has no resource name (`rn`), because clients can not download such a file. */
function summaryOf(block: Block): readonly FileSummary[] {
  const { meta, path, ts, turn_id } = block
  if (meta?.rn === undefined || path === undefined) return []
  const digest = readDigest(block) ?? readDigest({ ...block, mime: 'application/json', text: meta.digest ?? '' })
  const size = digest?.size_bytes ?? block.blob?.size ?? 0
  return [
    {
      rn: meta.rn,
      filename: path.split('/').at(-1) ?? path,
      mime: digest?.mime ?? block.mime ?? 'application/octet-stream',
      size_bytes: size,
      turn_id,
      logical_path: path,
      ts,
      ...(digest?.description !== undefined && { description: digest.description }),
      origin: isAttachment(path) ? 'user' : 'artifact',
    },
  ]
}

/**
 * Whether a user attached the file. The type of the block is not enough to decide this, because a tool that reads an attachment also
 * appends a block with the path of the attachment.
 */
function isAttachment(path: string): boolean {
  const parsed = parsePath(path)
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.area === 'attachments'
}
