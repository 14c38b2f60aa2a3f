import type { Block } from '../../block/block.ts'
import { type Digest, readDigest } from '../../block/digest.ts'
import { isObject, type Json, parseJson } from '../../json.ts'
import { unsafeReason } from '../../path/safety.ts'
import type { Caps } from '../caps.ts'
import { scrubBase64, stripHostingHandles } from '../redact.ts'
import { preview } from '../shorten.ts'
import { clip, joinLines, oneLine, textPart } from '../text.ts'
import type { Part, RenderContext } from '../types.ts'
import { binaryParts, blobOf, mimeOf } from './attachment.ts'
import { isReadStatus, renderReadStatus, renderSourceRows, rowSids } from './payloads.ts'

/**
 * Three forms of what a tool gave back:
 *
 *   .summary    what was made: status, and one line per artifact
 *   .artifact   one artifact: where it is, then its content
 *   .result     everything else: a payload at the call's own path
 */
export function renderToolResult(block: Block, context: RenderContext): readonly Part[] {
  if (blobOf(block)) return renderBinary(block, context)
  if (block.text === undefined) return [] // only anchors hosting handles
  const digest = readDigest(block)
  if (digest) return renderDigest(digest, context)
  if (isPlainResult(block, context)) return renderResult(block, undefined, context)
  const payload = readPayload(block)
  if (block.meta?.render_role === 'summary') return renderSummaryText(block, payload, context)
  if (payload === undefined && isArtifactPath(block.path)) return renderArtifact(block, context)
  return renderResult(block, payload, context)
}

/** Their content blocks carry the path; a digest before it would say it twice. */
const selfDescribing: ReadonlySet<string> = new Set(['react.read', 'web_tools.web_search', 'web_tools.web_fetch'])

/** The one summary a digest would show: digests of one call with one status share it. Undefined when it shows none. */
export function summaryKey(block: Block, callId: string | undefined, toolId: string | undefined): string | undefined {
  const digest = block.type === 'react.tool.result' && !blobOf(block) ? readDigest(block) : undefined
  if (!digest || callId === undefined) return undefined
  const problem = errorText(digest)
  return problem === undefined && toolId !== undefined && selfDescribing.has(toolId) ? undefined : `${callId} ${problem ?? 'success'}`
}

/** What a payload may say that changes how it is shown; and an escape may hide it. */
const affectsRendering = /\\|"(?:sid|total_tokens|hosted_uri|rn|local_path|physical_path)"/

/** Shown as it stands, whatever it says: short, at the call's own path, and without a word that counts. Most results are not read. */
function isPlainResult({ text = '', path, meta }: Block, { caps }: RenderContext): boolean {
  return (
    text.length <= caps.toolResult && path?.startsWith('tc:') === true && meta?.render_role === undefined && !affectsRendering.test(text)
  )
}

function readPayload(block: Block): Json | undefined {
  const mime = mimeOf(block)
  return mime === '' || mime === 'application/json' || mime.endsWith('+json') ? parseJson(block.text) : undefined
}

const isArtifactPath = (path: string | undefined) => path !== undefined && /^(?:fi|ar|sk|so|ks|su|ws):/.test(path)

function heading(form: 'summary' | 'artifact' | 'result', { callId, toolId, caps }: RenderContext): string {
  const id = callId === undefined ? 'tc_????' : oneLine(callId, caps.id)
  return `[TOOL RESULT ${id}].${form}${toolId === undefined ? '' : ` ${oneLine(toolId, caps.id)}`}`
}

function renderDigest(digest: Digest, context: RenderContext): readonly Part[] {
  const { caps, toolId, continues } = context
  const problem = errorText(digest)
  if (problem === undefined && toolId !== undefined && selfDescribing.has(toolId)) return []
  const artifact = artifactLine(digest, caps)
  return [textPart(continues ? artifact : joinLines(heading('summary', context), statusLine(problem, caps), 'Artifacts:', artifact))]
}

function statusLine(problem: string | undefined, limits: Caps): string {
  return problem === undefined ? 'Status: success' : `Status: error — ${oneLine(problem, limits.errorMessage)}`
}

/** `<code> <message>`; undefined when all went well. */
function errorText(said: { readonly [key: string]: unknown }): string | undefined {
  const { error, status, code, message } = said
  if (typeof error === 'string') return `error ${error}`
  if (isObject(error)) return joinWords(error.code ?? 'error', error.message)
  const failed = status === 'error' || (code !== undefined && message !== undefined)
  return failed ? joinWords(code ?? 'error', message) : undefined
}

const joinWords = (...given: readonly unknown[]) => given.filter((word) => typeof word === 'string' || typeof word === 'number').join(' ')

function artifactLine(digest: Digest, limits: Caps): string {
  const physical = digest.physical_path
  const fields: readonly (readonly [string, string | number | undefined])[] = [
    ['logical_path', digest.artifact_path],
    ['physical_path', physical !== undefined && unsafeReason(physical) === undefined ? physical : undefined],
    ['kind', digest.kind],
    ['visibility', digest.visibility],
    ['channel', digest.channel],
    ['size_bytes', digest.size_bytes],
    ['tokens', digest.tokens],
    ['sources_used', digest.sources_used?.length ? `[${digest.sources_used.slice(0, limits.sourcesUsed).join(',')}]` : undefined],
    ['edited', digest.edited ? 'true' : undefined],
    ['write_warning', digest.write_warning],
  ]
  const said = fields.flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [`${key}: ${oneLine(`${value}`, limits.path)}`],
  )
  return `- ${said.join(' | ')}`
}

function renderSummaryText(block: Block, payload: Json | undefined, context: RenderContext): readonly Part[] {
  const { caps } = context
  const path = shownPath(block, caps)
  const problem = isObject(payload) ? errorText(payload) : undefined
  const body =
    isObject(payload) && problem !== undefined ? undefined : clip(scrubBase64(stripHostingHandles(block.text ?? '')), caps.toolResult, path)
  return [textPart(joinLines(heading('summary', context), statusLine(problem, caps), body))]
}

const shownPath = ({ path }: Block, limits: Caps) => (path === undefined ? undefined : oneLine(path, limits.path))

/** Where it is, by its path as it is shown. */
function locationLines({ meta }: Block, path: string | undefined): string | undefined {
  const physical = meta?.physical_path
  const local = typeof physical === 'string' && unsafeReason(physical) === undefined ? `\nphysical_path: ${physical}` : ''
  return path === undefined ? undefined : `logical_path: ${path}${local}`
}

function renderArtifact(block: Block, context: RenderContext): readonly Part[] {
  const { caps, toolId } = context
  const path = shownPath(block, caps)
  const header = textPart(joinLines(heading('artifact', context), locationLines(block, path)))
  const text = scrubBase64(block.text ?? '')
  const exempt = toolId === 'react.read' || path?.startsWith('so:') === true
  const content = exempt ? clip(text, caps.readResult, path) : preview({ what: 'ARTIFACT', text, limit: caps.toolResult, path }, caps)
  return content === '' ? [header] : [header, textPart(content)]
}

function renderBinary(block: Block, context: RenderContext): readonly Part[] {
  const { caps, attached } = context
  const below = `mime: ${oneLine(mimeOf(block), caps.mime)}\nshown below as attachment ${attached} of this round`
  const where = locationLines(block, shownPath(block, caps))
  const header = joinLines(heading('artifact', context), where, typeof attached === 'number' ? below : undefined)
  return [textPart(header), ...binaryParts(block, context)]
}

function renderResult(block: Block, payload: Json | undefined, context: RenderContext): readonly Part[] {
  const { caps, toolId } = context
  const path = shownPath(block, caps)
  if (isReadStatus(payload))
    return [textPart(joinLines(heading('result', context), locationLines(block, path), renderReadStatus(payload, caps)))]
  const sids = rowSids(payload)
  if (payload !== undefined && sids.length > 0) {
    return [textPart(joinLines(heading('result', context), renderSourceRows(payload, sids, caps)))]
  }
  const text = scrubBase64(payload === undefined ? (block.text ?? '') : stripHostingHandles(block.text ?? ''))
  const exempt = toolId === 'react.read' || path?.startsWith('so:') === true
  const shown = exempt
    ? clip(text, caps.readResult, path)
    : preview({ what: 'TOOL RESULT', text, limit: caps.toolResult, path, json: payload }, caps)
  const mime = mimeOf(block)
  const where = locationLines(block, path)
  const kind = mime === '' ? '' : `\nmime: ${oneLine(mime, caps.mime)}`
  return [textPart(`${heading('result', context)}${where === undefined ? '' : `\n${where}`}${kind}\npayload:\n${shown}`)]
}
