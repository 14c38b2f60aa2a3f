import { type Block, readDigest } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { publishPath } from '../../core/path/build.ts'
import { canonicalPath, parsePath } from '../../core/path/logical.ts'
import { toLogical } from '../../core/path/physical.ts'
import type { RecordedFiles } from '../../ports/workspace.ts'
import type { Call } from '../tool.ts'
import { type RecordedContent, recordedContents } from './recorded.ts'

/** What the journal of a conversation knows of files, visible or not. */
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
    async paths(turnId) {
      const blocks = await records.byTurn(turnId)
      return [...new Set(blocks.flatMap(filePathsOf).filter((path) => isFileOf(path, turnId)))].sort()
    },
    async manifest(turnId) {
      const published = (await records.byPath(publishPath(turnId))).at(-1)
      return parseJson(published?.text)
    },
  }
}

async function recordedBytes(recorded: RecordedContent, blobs: Call['blobs']): Promise<Uint8Array | undefined> {
  if (recorded.kind === 'blob') return fetchBlob(recorded.blob.sha256, blobs)
  return recorded.kind === 'text' ? Buffer.from(recorded.text) : Buffer.from(recorded.base64, 'base64')
}

/** Bytes that were let go are as good as never recorded; damage is not. */
export async function fetchBlob(sha256: string, blobs: Call['blobs']): Promise<Uint8Array | undefined> {
  try {
    return await blobs.get(sha256)
  } catch (error) {
    if (error instanceof Failure && error.code === 'blob.missing') return undefined
    throw error
  }
}

/** Every path that a block records a file under. */
function filePathsOf(block: Block): readonly string[] {
  const described = readDigest(block)?.artifact_path
  const physical = block.meta?.physical_path
  const named = [block.path, described].flatMap((path) => (path === undefined ? [] : (canonicalPath(path) ?? [])))
  return physical === undefined ? named : [...named, ...[toLogical(physical, new Set([block.turn_id]))].flatMap((path) => path ?? [])]
}

function isFileOf(path: string, turnId: string): boolean {
  const parsed = parsePath(path)
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.turn === turnId && parsed.conversation === undefined
}
