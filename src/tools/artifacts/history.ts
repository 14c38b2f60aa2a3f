import { type BlobRef, type Block, readDigest } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { publishPath } from '../../core/path/build.ts'
import { canonicalPath, parsePath } from '../../core/path/logical.ts'
import { toLogical } from '../../core/path/physical.ts'
import { hasWholeContent } from '../../core/timeline/artifacts.ts'
import type { RecordedFiles } from '../../ports/workspace.ts'
import { isTextMime } from '../mime.ts'
import type { Call } from '../tool.ts'

/** The files that the journal of a conversation records, including files whose blocks are no longer visible. */
export function historyOf({ records, blobs }: Pick<Call, 'records' | 'blobs'>): RecordedFiles {
  return {
    async bytes(logical) {
      const path = canonicalPath(logical)
      if (path === undefined) return undefined
      for (const recorded of recordedContents(await records.byPath(path))) {
        const bytes = await recordedBytes(recorded, blobs)
        if (bytes !== undefined) return bytes
      }
      return undefined
    },
    async blob(logical) {
      const path = canonicalPath(logical)
      const recorded = path === undefined ? undefined : recordedContents(await records.byPath(path)).next().value
      return recorded?.kind === 'blob' ? recorded.blob : undefined
    },
    async paths(turnId) {
      const blocks = await records.byTurn(turnId)
      return [...new Set(blocks.flatMap((block) => recordedPathsOf(block, turnId)))].sort()
    },
    async made(turnId) {
      const paths = (await records.byTurn(turnId)).flatMap((block) => readDigest(block)?.artifact_path ?? [])
      return [...new Set(paths.flatMap((path) => canonicalPath(path) ?? []).filter((path) => isFileOf(path, turnId)))].sort()
    },
    async manifest(turnId) {
      const published = (await records.byPath(publishPath(turnId))).at(-1)
      return parseJson(published?.text)
    },
    async keeps(turnId) {
      const published = (await records.byPath(publishPath(turnId))).at(-1)
      return new Set(published?.meta?.keeps?.map(({ sha256 }) => sha256))
    },
    hasTurn: async (turnId) => (await records.byTurn(turnId)).length > 0,
  }
}

async function recordedBytes(recorded: RecordedContent, blobs: Call['blobs']): Promise<Uint8Array | undefined> {
  if (recorded.kind === 'blob') return fetchBlob(recorded.blob.sha256, blobs)
  return recorded.kind === 'text' ? Buffer.from(recorded.text) : Buffer.from(recorded.base64, 'base64')
}

/** The bytes of a blob. Undefined when the blob was removed. Throws when it is damaged. */
export async function fetchBlob(sha256: string, blobs: Call['blobs']): Promise<Uint8Array | undefined> {
  try {
    return await blobs.get(sha256)
  } catch (error) {
    if (error instanceof Failure && error.code === 'blob.missing') return undefined
    throw error
  }
}

/** The logical paths under which a block stores a file of the given turn. */
export const recordedPathsOf = (block: Block, turnId: string): readonly string[] =>
  filePathsOf(block).filter((path) => isFileOf(path, turnId))

/**
 * All logical paths under which a block stores a file: its own path, the path in its digest, and `meta.physical_path` as a logical path.
 */
function filePathsOf(block: Block): readonly string[] {
  const artifactPath = readDigest(block)?.artifact_path
  const physical = block.meta?.physical_path
  const paths = [block.path, artifactPath].flatMap((path) => (path === undefined ? [] : (canonicalPath(path) ?? [])))
  const logical = physical === undefined ? undefined : toLogical(physical, new Set([block.turn_id]))
  return logical === undefined ? paths : [...paths, logical]
}

function isFileOf(path: string, turnId: string): boolean {
  const parsed = parsePath(path)
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.turn === turnId && parsed.conversationId === undefined
}

/** The complete content of a file, and the block that stores it. */
export type RecordedContent = { readonly block: Block } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'blob'; readonly blob: BlobRef }
  | { readonly kind: 'base64'; readonly base64: string }
)

/**
 * Goes through the blocks at one path from the newest to the oldest, and yields the complete content that each block stores. Previews and
 * diffs are skipped. It stops at a patch whose result is not stored, because earlier blocks have the content from before the patch.
 */
export function* recordedContents(blocks: readonly Block[]): Generator<RecordedContent> {
  for (let at = blocks.length - 1; at >= 0; at--) {
    const block = blocks[at] as Block
    const content = recordedContentOf(block)
    if (content) yield content
    else if (block.meta?.is_patch === true) return
  }
}

/**
 * The complete content that a block stores. Undefined when the block stores only a part. A blob in `keeps` is always complete, even if the
 * text of the block is only a preview.
 */
function recordedContentOf(block: Block): RecordedContent | undefined {
  const { base64, text, mime = '' } = block
  const blob = block.meta?.keeps?.[0] ?? block.blob
  if (blob !== undefined) return { kind: 'blob', blob, block }
  if (base64 !== undefined) return { kind: 'base64', base64, block }
  return text !== undefined && hasWholeContent(block) && isTextMime(mime) ? { kind: 'text', text, block } : undefined
}
