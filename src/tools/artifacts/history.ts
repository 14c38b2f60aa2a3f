import { type Block, readDigest } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { publishPath } from '../../core/path/build.ts'
import { canonicalPath, parsePath } from '../../core/path/logical.ts'
import { toLogical } from '../../core/path/physical.ts'
import type { History } from '../../ports/workspace.ts'
import type { Call } from '../tool.ts'
import { type Recorded, recordedIn } from './recorded.ts'

/** What the journal of a conversation knows of files, visible or not. */
export function historyOf({ records, blobs }: Pick<Call, 'records' | 'blobs'>): History {
  return {
    async bytes(logical) {
      const path = canonicalPath(logical)
      if (path === undefined) return undefined
      for (const recorded of recordedIn(await records.byPath(path))) {
        const bytes = await bytesOf(recorded, blobs)
        if (bytes !== undefined) return bytes
      }
      return undefined
    },
    async paths(turnId) {
      const blocks = await records.byTurn(turnId)
      return [...new Set(blocks.flatMap(pathsIn).filter((path) => isFileOf(path, turnId)))].sort()
    },
    async manifest(turnId) {
      const published = (await records.byPath(publishPath(turnId))).at(-1)
      return parseJson(published?.text)
    },
  }
}

async function bytesOf(recorded: Recorded, blobs: Call['blobs']): Promise<Uint8Array | undefined> {
  if (recorded.kind === 'blob') return fetched(recorded.blob.sha256, blobs)
  return recorded.kind === 'text' ? Buffer.from(recorded.text) : Buffer.from(recorded.base64, 'base64')
}

/** Bytes that were let go are as good as never recorded; damage is not. */
export async function fetched(sha256: string, blobs: Call['blobs']): Promise<Uint8Array | undefined> {
  try {
    return await blobs.get(sha256)
  } catch (error) {
    if (error instanceof Failure && error.code === 'blob.missing') return undefined
    throw error
  }
}

/** Every path that a block records a file under. */
function pathsIn(block: Block): readonly string[] {
  const described = readDigest(block)?.artifact_path
  const physical = block.meta?.physical_path
  const named = [block.path, described].flatMap((path) => (path === undefined ? [] : (canonicalPath(path) ?? [])))
  return physical === undefined ? named : [...named, ...[toLogical(physical, new Set([block.turn_id]))].flatMap((path) => path ?? [])]
}

function isFileOf(path: string, turnId: string): boolean {
  const parsed = parsePath(path)
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.turn === turnId && parsed.conversation === undefined
}
