import { type Block, isHidden, readDigest } from '../core/block/index.ts'
import { Failure } from '../core/failure.ts'
import { parseJson } from '../core/json.ts'
import { filePath } from '../core/path/build.ts'
import { canonicalPath, dropOwnConversation, type FilePath, isInOtherConversation, parsePath } from '../core/path/logical.ts'
import { toLogical, toPhysical } from '../core/path/physical.ts'
import { selectSources } from '../core/sources/pool.ts'
import type { SourceRow } from '../core/sources/source.ts'
import { findArtifact, hasWholeContent } from '../core/timeline/artifacts.ts'
import { blocksAtPath, digestBlocksOf, type Timeline } from '../core/timeline/timeline.ts'
import { knownTurns } from '../core/timeline/turns.ts'
import { readLeftFile } from './artifacts/earlier-files.ts'
import { decodeText, isTextMime, mimeOf } from './mime.ts'
import type { Call } from './tool.ts'

/** Why a reference can not be replaced by content. The model reads these codes. */
export type ReferenceProblem =
  | 'ref_not_visible'
  | 'ref_other_conversation'
  | 'ref_internal_not_visible'
  | 'fi_ref_not_materialized'
  | 'workspace_version_unavailable'
  | 'ref_file_unsafe'
  | 'refs_too_large'
  | 'sources_list_requires_so_ref'
  | 'renderer_content_ref_not_text'
  | 'ref_not_text'

/** The content to which a reference refers, or the reason why it can not be used. */
export type ReferenceResolution =
  | {
      readonly ok: true
      readonly path: string
      readonly content: ReferenceContent
      /** True when the reference names no turn, as in `files/…`. The path is then in the current turn. */
      readonly shorthand: boolean
      /** SIDs in the reference that the pool does not have. */
      readonly missing: readonly number[]
    }
  | { readonly ok: false; readonly path: string; readonly problem: ReferenceProblem }

export type ReferenceContent =
  /**
   * `bytes` are the bytes of the file. They are needed for an exact copy, because `text` preserves neither the charset nor the byte order
   * mark.
   */
  | { readonly kind: 'text'; readonly text: string; readonly json: boolean; readonly bytes?: Uint8Array }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'rows'; readonly rows: readonly SourceRow[] }

const maxFileBytes = 10 * 1024 * 1024

/** The approximate number of bytes that the content takes in memory. */
export function contentSize(content: ReferenceContent): number {
  if (content.kind === 'bytes') return content.bytes.length
  if (content.kind === 'text') return content.bytes?.length ?? content.text.length
  return content.rows.reduce((sum, { text = '', content: page = '' }) => sum + text.length + page.length, 0)
}

/**
 * Finds the content that a reference names. `address` is the reference without `ref:`. Content that the model does not see in its prompt is
 * not returned.
 */
export async function resolveReference(address: string, call: Call): Promise<ReferenceResolution> {
  const { path, shorthand } = normalizeAddress(address, call)
  const parsed = path === undefined ? undefined : parsePath(path)
  if (path === undefined || parsed === undefined) return unresolved(address, 'ref_not_visible')
  if (isInOtherConversation(parsed)) return unresolved(address, 'ref_other_conversation')
  if (parsed.space === 'so') {
    const { rows, missing } = selectSources(call.timeline.sources, parsed.sids)
    return rows.length === 0 ? unresolved(path, 'ref_not_visible') : { ok: true, path, content: { kind: 'rows', rows }, shorthand, missing }
  }
  if (!isVisible(call.timeline, path)) return unresolved(path, 'ref_not_visible')
  if (isInternal(call.timeline, path)) return unresolved(path, 'ref_internal_not_visible')
  const content = parsed.space === 'fi' && parsed.kind === 'file' ? await fileAt(parsed, path, call) : textAt(call.timeline, path)
  return typeof content === 'string' ? unresolved(path, content) : { ok: true, path, content, shorthand, missing: [] }
}

const unresolved = (path: string, problem: ReferenceProblem): ReferenceResolution => ({ ok: false, path, problem })

/**
 * The logical path of a reference. An address such as `files/x` names a file of the current turn. A physical path is converted to a logical
 * path.
 */
function normalizeAddress(
  address: string,
  { timeline, origin, conversationId }: Call,
): { readonly path: string | undefined; readonly shorthand: boolean } {
  const bare = /^(files|outputs|attachments)\/(.+)$/s.exec(address)
  if (bare)
    return { path: canonicalPath(filePath(origin.turnId, bare[1] as 'files' | 'outputs' | 'attachments', bare[2] ?? '')), shorthand: true }
  const turns = new Set(knownTurns(timeline)).add(origin.turnId)
  return { path: canonicalPath(dropOwnConversation(address, conversationId)) ?? toLogical(address, turns), shorthand: false }
}

const isVisible = (timeline: Timeline, path: string): boolean =>
  [...blocksAtPath(timeline, path), ...digestBlocksOf(timeline, path)].some((block) => !isHidden(block))

/**
 * Whether the agent made this content for itself: an internal artifact or a note. False for the result of a tool (a `tc:` path), although
 * users do not see all results.
 */
function isInternal(timeline: Timeline, path: string): boolean {
  if (path.startsWith('tc:')) return false
  const artifact = findArtifact(timeline, path)
  return artifact?.metadata.visibility === 'internal' || blocksAtPath(timeline, path).at(-1)?.type === 'react.note'
}

/**
 * Reads the complete file, because its block in the timeline may contain only a preview. A file of an earlier turn is read from the version
 * that the earlier turn published. A file of the current turn, or of a turn without a version, is read from the workspace.
 */
async function fileAt(file: FilePath, path: string, call: Call): Promise<ReferenceContent | ReferenceProblem> {
  const physical = toPhysical(path)
  if (physical === undefined) return 'ref_not_visible'
  const left = await readLeftFile(file, call)
  if (left === 'unavailable') return 'workspace_version_unavailable'
  if (left === 'missing') return 'fi_ref_not_materialized'
  if (left && left.length > maxFileBytes) return 'ref_file_unsafe'
  if (left) return fileContent(left, physical)
  try {
    const bytes = await (await call.workspace()).files.read(physical, { maxBytes: maxFileBytes })
    return bytes === undefined ? 'fi_ref_not_materialized' : fileContent(bytes, physical)
  } catch (error) {
    if (error instanceof Failure && error.code === 'workspace.missing') return 'fi_ref_not_materialized'
    if (error instanceof Failure && error.code === 'file.unsafe') return 'ref_file_unsafe'
    throw error
  }
}

function fileContent(bytes: Uint8Array, name: string): ReferenceContent {
  const mime = mimeOf(name)
  const text = isTextMime(mime) || mime === 'application/octet-stream' ? decodeText(bytes) : undefined
  return text === undefined ? { kind: 'bytes', bytes } : { kind: 'text', text, json: mime === 'application/json', bytes }
}

function textAt(timeline: Timeline, path: string): ReferenceContent | ReferenceProblem {
  const block = blocksAtPath(timeline, path).findLast(
    (each: Block) => !isHidden(each) && each.text !== undefined && hasWholeContent(each) && !readDigest(each),
  )
  if (block?.text === undefined) return 'ref_not_visible'
  return { kind: 'text', text: block.text, json: block.mime === 'application/json' && parseJson(block.text) !== undefined }
}
