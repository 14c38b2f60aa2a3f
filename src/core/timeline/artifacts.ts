import { type ArtifactKind, type BlobRef, type Block, callIdOf, type Meta } from '../block/block.ts'
import { type Digest, readDigest } from '../block/digest.ts'
import { readToolCall } from '../block/tool.ts'
import { canonicalPath } from '../path/logical.ts'
import { toLogical } from '../path/physical.ts'
import { blocksAtPath, blocksOfCall, digestBlocksOf, type Timeline } from './timeline.ts'
import { knownTurns } from './turns.ts'

/** What blocks say of one artifact: its newest metadata and its newest content. Hidden blocks speak too. */
export interface Artifact {
  readonly path: string
  readonly kind: ArtifactKind
  /** Digest first, then the metadata block's meta, then the content blocks': the first to name a key decides it. */
  readonly metadata: Meta & Partial<Digest>
  readonly callId?: string
  readonly toolId?: string
  readonly text?: string
  readonly blob?: BlobRef
  readonly base64?: string
}

/** The artifact at a logical or physical path; undefined when the timeline does not hold it. */
export function findArtifact(timeline: Timeline, path: string): Artifact | undefined {
  const logical = canonicalPath(path) ?? toLogical(path, knownTurns(timeline))
  if (logical === undefined) return undefined
  const content = blocksAtPath(timeline, logical)
  const described = digestBlocksOf(timeline, logical).at(-1)
  return buildArtifact(logical, described, content, (callId) => toolIdOfCall(timeline, callId))
}

/** The same from any list of blocks, oldest first: a turn log, the answer of a store. */
export function artifactFromBlocks(blocks: readonly Block[], logical: string): Artifact | undefined {
  const described = blocks.findLast((block) => describes(block, logical))
  const content = blocks.filter(({ path }) => path === logical)
  const tool = (callId: string) => blocks.find((block) => callIdOf(block) === callId && readToolCall(block))
  return buildArtifact(logical, described, content, (callId) => toolIdOfBlock(tool(callId)))
}

/** True when another call made this artifact before: then the version at hand is an edit. */
export function wasMadeByAnotherCall(timeline: Timeline, logical: string, callId: string): boolean {
  const others = (block: Block) => callIdOf(block) !== callId
  return blocksAtPath(timeline, logical).some(others) || digestBlocksOf(timeline, logical).some(others)
}

function buildArtifact(
  path: string,
  described: Block | undefined,
  content: readonly Block[],
  toolIdOf: (callId: string) => string | undefined,
): Artifact | undefined {
  if (!described && content.length === 0) return undefined
  const newest = content.findLast((block) => block.text !== undefined && (hasWholeContent(block) || isPatch(block)))
  const patch = newest && isPatch(newest) ? newest : undefined // its text is no content, and what was there before is none any more
  const text = patch ? undefined : newest
  const binary = patch ? undefined : content.findLast((block) => block.blob !== undefined || block.base64 !== undefined)
  const blob = patch ? patch.meta?.keeps?.[0] : binary?.blob
  const digest = described && readDigest(described)
  const metas = [...content].reverse().map(({ meta }) => meta ?? {})
  const visibility = metas.find((meta) => meta.visibility !== undefined)?.visibility // a patch tells its own; the content block the artifact's
  const about: Meta & Partial<Digest> = firstWins([visibility ? { visibility } : {}, digest ?? {}, described?.meta ?? {}, ...metas])
  const callId = digest?.tool_call_id ?? (described && callIdOf(described)) ?? content.map(callIdOf).findLast((call) => call !== undefined)
  const toolId = callId === undefined ? undefined : toolIdOf(callId)
  return {
    path,
    kind: about.kind === 'file' || about.kind === 'display' ? about.kind : binary ? 'file' : 'display',
    metadata: about,
    ...(callId !== undefined && { callId }),
    ...(toolId !== undefined && { toolId }),
    ...(text?.text !== undefined && { text: text.text }),
    ...(blob && { blob }),
    ...(binary?.base64 !== undefined && { base64: binary.base64 }),
  }
}

/** Its text is the content: not a diff, not a part or a preview of it, and not what is told about it. */
export function hasWholeContent(block: Block): boolean {
  return !isPatch(block) && block.meta?.partial !== true && !readDigest(block) && !excerptTypes.has(block.type)
}

const isPatch = (block: Block): boolean => block.meta?.is_patch === true

const excerptTypes: ReadonlySet<string> = new Set(['user.attachment.text', 'user.attachment.meta'])

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
