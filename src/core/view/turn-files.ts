import { type Block, isResultMetadata, readDigest } from '../block/index.ts'
import { parsePath } from '../path/logical.ts'
import { artifactFromBlocks } from '../timeline/artifacts.ts'
import type { FileView } from './visible-event.ts'

/**
 * The files that a turn made for users, the newest version of each. `blocks` are blocks of the conversation, oldest first. Blocks of other
 * turns are ignored. A file has an `rn` if it was hosted.
 */
export function filesOfTurn(blocks: readonly Block[], turnId: string): readonly FileView[] {
  const paths = new Set<string>()
  for (const block of blocks) {
    if (block.turn_id !== turnId || isResultMetadata(block)) continue // a metadata block belongs to no file; skipping it saves parsing one block per call
    const digest = readDigest(block)
    if (digest) paths.add(digest.artifact_path)
  }
  if (paths.size === 0) return []
  const ofTurn = blocks.filter((block) => block.turn_id === turnId)
  return [...paths].filter((path) => isMadeBy(turnId, path)).flatMap((path) => fileAt(ofTurn, path))
}

/** Whether the turn made the file. A block may also be about a file that a user attached or that another turn made. */
function isMadeBy(turnId: string, path: string): boolean {
  const parsed = parsePath(path)
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.turn === turnId && parsed.area !== 'attachments'
}

function fileAt(blocks: readonly Block[], path: string): readonly FileView[] {
  const artifact = artifactFromBlocks(blocks, path)
  if (artifact?.kind !== 'file' || artifact.metadata.visibility !== 'external') return []
  const { mime, size_bytes: size, rn, description } = artifact.metadata
  return [{ path, filename: path.split('/').at(-1) ?? path, mime, size: typeof size === 'number' ? size : undefined, rn, description }]
}
