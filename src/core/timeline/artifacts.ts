import { type ArtifactKind, type BlobRef, type Block, type BlockType, callIdOf, type Meta, type Visibility } from '../block/block.ts'
import { type Digest, readDigest, readToolCall } from '../block/round.ts'
import { isObject, parseJson } from '../json.ts'
import { canonicalPath, parsePathUnchecked } from '../path/logical.ts'
import { normalizeTarget, toLogical } from '../path/physical.ts'
import { blockAt, blocksAtPath, blocksOfCall, digestBlocksOf, type Timeline } from './timeline.ts'
import { knownTurns } from './turns.ts'

/** An artifact, with its newest digest and its newest content. Both may come from hidden blocks. */
export interface Artifact {
  readonly path: string
  readonly kind: ArtifactKind
  /**
   * Fields from three places: the digest, the `meta` of the digest block, and the `meta` of the content blocks, newest first. If several
   * places have a field, its value is taken from the first of them in this order. Only for `visibility`, the content blocks come first.
   */
  readonly metadata: Meta & Partial<Digest>
  readonly callId?: string
  readonly toolId?: string
  readonly text?: string
  readonly blob?: BlobRef
  readonly base64?: string
}

/** The artifact at a logical or physical path. Undefined when the timeline has no artifact at this path. */
export function findArtifact(timeline: Timeline, path: string): Artifact | undefined {
  const logical = canonicalPath(path) ?? toLogical(path, knownTurns(timeline))
  if (logical === undefined) return undefined
  const content = blocksAtPath(timeline, logical)
  const metadataBlock = digestBlocksOf(timeline, logical).at(-1)
  return buildArtifact(logical, metadataBlock, content, (callId) => toolIdOfCall(timeline, callId))
}

/** Finds an artifact in a list of blocks, oldest first, such as a turn log or the blocks that a store returned. */
export function artifactFromBlocks(blocks: readonly Block[], logical: string): Artifact | undefined {
  const metadataBlock = blocks.findLast((block) => describes(block, logical))
  const content = blocks.filter(({ path }) => path === logical)
  const tool = (callId: string) => blocks.find((block) => callIdOf(block) === callId && readToolCall(block))
  return buildArtifact(logical, metadataBlock, content, (callId) => toolIdOfBlock(tool(callId)))
}

/** Whether another call has already written this artifact. If so, the call `callId` edits an existing artifact. */
export function wasMadeByAnotherCall(timeline: Timeline, logical: string, callId: string): boolean {
  const isOfAnotherCall = (block: Block) => callIdOf(block) !== callId
  return blocksAtPath(timeline, logical).some(isOfAnotherCall) || digestBlocksOf(timeline, logical).some(isOfAnotherCall)
}

/**
 * Whether a file that the model names is internal. A path without a turn refers to the newest file of that name. A file that is not in the
 * timeline is treated as internal.
 */
export function isInternalFile(timeline: Timeline, path: string): boolean {
  if (findArtifact(timeline, path)?.metadata.visibility === 'internal') return true
  const turns = knownTurns(timeline)
  const target = normalizeTarget(path, { currentTurn: timeline.openTurn?.turn_id ?? 'turn', knownTurns: turns })
  const file = target.ok ? parsePathUnchecked(target.logical) : undefined
  if (file?.space !== 'fi' || file.kind !== 'file') return true
  const isNamed = (other: unknown) => {
    const parsed = typeof other === 'string' && other.startsWith('fi:') ? parsePathUnchecked(other) : undefined
    return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.area === file.area && parsed.rel === file.rel
  }
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (!block || !isNamed(block.meta?.source_path ?? block.path)) continue
    const isNote = block.type === 'react.note' || block.type === 'react.note.preserved'
    const visibility = isNote ? 'internal' : (block.meta?.visibility ?? visibilityInDigest(block))
    if (visibility !== undefined) return visibility !== 'external'
  }
  return true
}

function visibilityInDigest({ type, meta }: Block): unknown {
  if (type.startsWith('user.')) return 'external' // the user attached this file
  const digest = parseJson(meta?.digest)
  return isObject(digest) ? digest.visibility : undefined
}

function buildArtifact(
  path: string,
  metadataBlock: Block | undefined,
  content: readonly Block[],
  toolIdOf: (callId: string) => string | undefined,
): Artifact | undefined {
  if (!metadataBlock && content.length === 0) return undefined
  const newest = content.findLast((block) => block.text !== undefined && (hasWholeContent(block) || isPatch(block)))
  const patch = newest && isPatch(newest) ? newest : undefined // after a patch, earlier content is outdated
  const text = patch ? undefined : newest
  const binary = patch ? undefined : content.findLast((block) => block.blob !== undefined || block.base64 !== undefined)
  const blob = patch ? patch.meta?.keeps?.[0] : binary?.blob
  const digest = metadataBlock && readDigest(metadataBlock)
  const metas = [...content].reverse().map(({ meta }) => meta ?? {})
  // The digest of a patch has the visibility of the patch. The content blocks have the visibility of the artifact, so their visibility is
  // used if they have one.
  const visibility = metas.find((meta) => meta.visibility !== undefined)?.visibility
  const metadata: Meta & Partial<Digest> = firstWins([visibility ? { visibility } : {}, digest ?? {}, metadataBlock?.meta ?? {}, ...metas])
  const callId =
    digest?.tool_call_id ?? (metadataBlock && callIdOf(metadataBlock)) ?? content.map(callIdOf).findLast((call) => call !== undefined)
  const toolId = callId === undefined ? undefined : toolIdOf(callId)
  return {
    path,
    kind: metadata.kind === 'file' || metadata.kind === 'display' ? metadata.kind : binary ? 'file' : 'display',
    metadata,
    ...(callId !== undefined && { callId }),
    ...(toolId !== undefined && { toolId }),
    ...(text?.text !== undefined && { text: text.text }),
    ...(blob && { blob }),
    ...(binary?.base64 !== undefined && { base64: binary.base64 }),
  }
}

/** Whether the text of a block is the whole content of an artifact. False for a diff, a part of the content, an excerpt or a digest. */
export function hasWholeContent(block: Block): boolean {
  return !isPatch(block) && block.meta?.partial !== true && !readDigest(block) && !excerptTypes.has(block.type)
}

const isPatch = (block: Block): boolean => block.meta?.is_patch === true

const excerptTypes: ReadonlySet<BlockType> = new Set(['user.attachment.text', 'user.attachment.meta'])

function describes(block: Block, logical: string): boolean {
  const digest = readDigest(block)
  return digest !== undefined && (digest.artifact_path === logical || canonicalPath(digest.artifact_path) === logical)
}

function toolIdOfCall(timeline: Timeline, callId: string): string | undefined {
  return toolIdOfBlock(blocksOfCall(timeline, callId).find(readToolCall))
}

const toolIdOfBlock = (block: Block | undefined) => (block ? readToolCall(block)?.tool_id : undefined)

function firstWins(objects: readonly object[]): Meta & Partial<Digest> {
  return Object.assign({}, ...[...objects].reverse())
}

/** Whether users may see the file at a path. A value that is not a path is treated as internal. */
export const visibilityOfFile = (timeline: Timeline, path: unknown): Visibility =>
  typeof path === 'string' && !isInternalFile(timeline, path) ? 'external' : 'internal'
