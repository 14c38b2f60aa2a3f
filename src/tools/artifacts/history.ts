import { type Block, readDigest } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { publishPath } from '../../core/path/build.ts'
import { canonicalPath, parsePath } from '../../core/path/logical.ts'
import { toLogical } from '../../core/path/physical.ts'
import { isWhole } from '../../core/timeline/artifacts.ts'
import type { History } from '../../ports/workspace.ts'
import { isTextMime } from '../mime.ts'
import type { Call } from '../tool.ts'

/** What the journal of a conversation knows of files, visible or not. */
export function historyOf({ records, blobs }: Pick<Call, 'records' | 'blobs'>): History {
  return {
    async bytes(logical) {
      const path = canonicalPath(logical)
      if (path === undefined) return undefined
      const recorded = (await records.byPath(path)).toReversed()
      for (const block of recorded) {
        const found = await bytesIn(block, blobs)
        if (found !== undefined) return found
        if (block.meta?.is_patch === true) return undefined // what it was before the patch is not what it is
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

/** The bytes that a block stands for: kept whole, shown, or told as text. Undefined for a preview, a patch, a digest, an anchor. */
async function bytesIn(block: Block, blobs: Call['blobs']): Promise<Uint8Array | undefined> {
  const { base64, text, mime = '' } = block
  const kept = block.meta?.keeps?.[0] ?? block.blob
  if (kept !== undefined) return fetched(kept.sha256, blobs)
  if (base64 !== undefined) return Buffer.from(base64, 'base64')
  return text !== undefined && isWhole(block) && isTextMime(mime) ? Buffer.from(text) : undefined
}

/** Bytes that were let go are as good as never recorded; damage is not. */
async function fetched(sha256: string, blobs: Call['blobs']): Promise<Uint8Array | undefined> {
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
