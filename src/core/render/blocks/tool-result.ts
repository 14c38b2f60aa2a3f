import type { Block } from '../../block/block.ts'
import { blobOf, mimeOf } from '../../block/block.ts'
import { type Digest, readDigest } from '../../block/round.ts'
import { isObject, type Json, parseJson } from '../../json.ts'
import { shortSourcesPath } from '../../path/build.ts'
import { unsafeReason } from '../../path/safety.ts'
import { sourceRowsIn } from '../../sources/rows.ts'
import type { Caps } from '../caps.ts'
import { omitHostingFields, stripHostingHandles } from '../hosting-handles.ts'
import { clip, joinLines, oneLine, pathWithin, preview, scrubBase64, shownPath, textPart } from '../text.ts'
import type { Part, RenderContext } from '../types.ts'
import { binaryParts } from './attachment.ts'
import { isPlainResult } from './fast-tool-result.ts'

/**
 * Renders a `react.tool.result` block. Its first line is a heading such as `[TOOL RESULT tc_1].summary rendering_tools.write_pdf`. The word
 * after the dot tells what follows:
 *
 *   .summary    the status of the call, and one line per artifact
 *   .artifact   the path of one artifact, then its content
 *   .result     any other payload
 */
export function renderToolResult(block: Block, context: RenderContext): readonly Part[] {
  if (blobOf(block)) return renderBinary(block, context)
  if (block.text === undefined) return [] // a block with neither text nor bytes only records where a file is hosted
  const digest = readDigest(block)
  if (digest) return renderDigest(block, digest, context)
  return isPlainResult(block, context) ? renderResult(block, undefined, context) : renderByPayload(block, context)
}

/**
 * Renders a result whose text has to be parsed first, because its JSON value decides how it is rendered. If `isPlainResult` is true for the
 * block, `renderResult` makes the same parts without parsing.
 */
export function renderByPayload(block: Block, context: RenderContext): readonly Part[] {
  const payload = readPayload(block)
  if (block.meta?.render_role === 'summary') return renderSummaryText(block, payload, context)
  if (payload === undefined && isArtifactPath(block.path)) return renderArtifact(block, context)
  return renderResult(block, payload, context)
}

/**
 * The heading of a list of artifacts. Consecutive digests of one call become lines under one heading, which shows the status of the first
 * digest.
 */
export interface SummaryLine {
  readonly callId: string
  readonly status: string
}

/** The heading that belongs to this block if the block is rendered as a line of an artifact list. Undefined for other blocks. */
export function summaryLineOf(block: Block, callId: string | undefined, toolId: string | undefined): SummaryLine | undefined {
  const digest = block.type === 'react.tool.result' && !blobOf(block) ? readDigest(block) : undefined
  if (!digest || callId === undefined || isShownByContent(block, digest, toolId)) return undefined
  return { callId, status: statusOf(errorText(digest)) }
}

/** Tools whose content blocks already show their paths. The digests of these tools are shown only for errors. */
const selfDescribingTools: ReadonlySet<string> = new Set(['react.read', 'web_tools.web_search', 'web_tools.web_fetch'])

/** Whether the digest tells nothing new: the call succeeded, and the content block after it shows the path. */
function isShownByContent({ path }: Block, digest: Digest, toolId: string | undefined): boolean {
  const isSelfDescribing = digest.artifact_path === path || (toolId !== undefined && selfDescribingTools.has(toolId))
  return isSelfDescribing && errorText(digest) === undefined
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

function renderDigest(block: Block, digest: Digest, context: RenderContext): readonly Part[] {
  const { caps, toolId, continuedStatus } = context
  if (isShownByContent(block, digest, toolId)) return []
  const status = statusOf(errorText(digest))
  const artifact = artifactLine(digest, caps)
  if (continuedStatus === undefined)
    return [textPart(joinLines(heading('summary', context), statusLine(status, caps), 'Artifacts:', artifact))]
  return [textPart(continuedStatus === status ? artifact : `${artifact} | status: ${oneLine(status, caps.errorMessage)}`)]
}

const statusOf = (problem: string | undefined) => (problem === undefined ? 'success' : `error — ${problem}`)
const statusLine = (status: string, limits: Caps) => `Status: ${oneLine(status, limits.errorMessage)}`

/** The error of a call as `<code> <message>`; undefined when the call succeeded. */
function errorText(report: { readonly [key: string]: unknown }): string | undefined {
  const { error, status, code, message } = report
  if (typeof error === 'string') return `error ${error}`
  if (isObject(error)) return joinWords(error.code ?? 'error', error.message)
  const failed = status === 'error' || (code !== undefined && message !== undefined)
  return failed ? joinWords(code ?? 'error', message) : undefined
}

const joinWords = (...words: readonly unknown[]) => words.filter((word) => typeof word === 'string' || typeof word === 'number').join(' ')

function artifactLine(digest: Digest, limits: Caps): string {
  const physical = digest.physical_path
  const fields: readonly (readonly [string, string | number | undefined])[] = [
    ['logical_path', digest.artifact_path],
    ['physical_path', physical !== undefined && unsafeReason(physical) === undefined ? physical : undefined],
    ['kind', digest.kind],
    ['visibility', digest.visibility],
    ['channel', digest.channel],
    ['size_bytes', digest.size_bytes],
    ['pages', digest.pages],
    ['tokens', digest.tokens],
    ['sources_used', digest.sources_used?.length ? `[${digest.sources_used.slice(0, limits.sourcesUsed).join(',')}]` : undefined],
    ['edited', digest.edited ? 'true' : undefined],
    ['write_warning', digest.write_warning],
    ['delivery', digest.handed_over === false ? 'kept, not handed over to the user' : undefined],
  ]
  const facts = fields.flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [`${key}: ${oneLine(`${value}`, limits.path)}`],
  )
  return `- ${facts.join(' | ')}`
}

function renderSummaryText(block: Block, payload: Json | undefined, context: RenderContext): readonly Part[] {
  const { caps } = context
  const path = shownPath(block, caps)
  const problem = isObject(payload) ? errorText(payload) : undefined
  const body =
    isObject(payload) && problem !== undefined ? undefined : clip(scrubBase64(stripHostingHandles(block.text ?? '')), caps.toolResult, path)
  return [textPart(joinLines(heading('summary', context), statusLine(statusOf(problem), caps), body))]
}

/** The lines with the logical and the physical path of a block. `path` is the logical path, already shortened for the prompt. */
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
  const content = isLimitedByReader(toolId, path)
    ? clip(text, caps.readResult, path)
    : preview({ what: 'ARTIFACT', text, limit: caps.toolResult, path }, caps)
  return content === '' ? [header] : [header, textPart(content)]
}

/** Whether the result comes from `react.read` or has source rows. Such results are already cut to the part that the model asked for. */
const isLimitedByReader = (toolId: string | undefined, path: string | undefined) =>
  toolId === 'react.read' || path?.startsWith('so:') === true

function renderBinary(block: Block, context: RenderContext): readonly Part[] {
  const { caps, attachment } = context
  const below = `mime: ${oneLine(mimeOf(block), caps.mime)}\nshown below as attachment ${attachment} of this round`
  const location = locationLines(block, shownPath(block, caps))
  const header = joinLines(heading('artifact', context), location, typeof attachment === 'number' ? below : undefined)
  return [textPart(header), ...binaryParts(block, context)]
}

function renderResult(block: Block, payload: Json | undefined, context: RenderContext): readonly Part[] {
  const { caps, toolId } = context
  const path = shownPath(block, caps)
  const location = locationLines(block, path)
  if (isReadStatus(payload)) return [textPart(joinLines(heading('result', context), location, renderReadStatus(payload, caps)))]
  const sids = payload === undefined ? [] : rowSids(payload)
  if (payload !== undefined && sids.length > 0) {
    return [textPart(joinLines(heading('result', context), renderSourceRows(payload, sids, caps)))]
  }
  const text = scrubBase64(payload === undefined ? (block.text ?? '') : stripHostingHandles(block.text ?? ''))
  const shown = isLimitedByReader(toolId, path)
    ? clip(text, caps.readResult, path)
    : preview({ what: 'TOOL RESULT', text, limit: caps.toolResult, path, json: payload }, caps)
  const mime = mimeOf(block)
  const mimeLine = mime === '' ? undefined : `mime: ${oneLine(mime, caps.mime)}`
  return [textPart(joinLines(heading('result', context), location, mimeLine, 'payload:', shown))]
}

// The functions below render two special payloads of tool results: the list of paths of a `react.read`, and rows of the source pool.

/** The payload of the first result block of every `react.read`. It tells which paths were found, are missing, or are visible already. */
interface ReadStatus {
  readonly paths: readonly unknown[]
  readonly total_tokens: unknown
  readonly [key: string]: unknown
}

export function isReadStatus(payload: unknown): payload is ReadStatus {
  return isObject(payload) && Array.isArray(payload.paths) && payload.total_tokens !== undefined
}

export function renderReadStatus(status: ReadStatus, limits: Caps): string {
  const visible = new Set(stringsIn(status.exists_in_visible_context))
  const rows = status.paths.slice(0, limits.readPaths).flatMap((row) => rowLine(row, visible, limits) ?? [])
  const more = status.paths.length - limits.readPaths
  const missing = [...stringsIn(status.missing), ...stringsIn(status.missing_skills)]
  const alreadyVisible = visibleLines(visible, status.visible_context_refs, limits)
  return joinLines(
    'paths:',
    ...rows,
    more > 0 ? `... ${more} more` : undefined,
    missing.length === 0 ? undefined : `missing: ${pathList(missing, limits)}`,
    alreadyVisible.length === 0 ? undefined : 'already visible:',
    ...alreadyVisible,
  )
}

const stringsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])
const shortPath = (path: string, limits: Caps) => pathWithin(path, Math.floor(limits.path / 8)) // many paths are listed, so cut each one

function rowLine(row: unknown, visible: ReadonlySet<string>, limits: Caps): string | undefined {
  if (typeof row === 'string') return `- ${shortPath(row, limits)}`
  if (!isObject(row) || typeof row.path !== 'string') return undefined
  const status = typeof row.status === 'string' ? row.status : undefined
  if (visible.has(row.path) || status === 'exists_in_visible_context') return `- ${shortPath(row.path, limits)} (already visible)`
  const facts = [
    typeof row.tokens === 'number' ? `tokens=${row.tokens}` : undefined,
    typeof row.bytes === 'number' && typeof row.mime === 'string' ? `type=${oneLine(row.mime, limits.mime)}` : undefined,
    typeof row.bytes === 'number' ? `bytes=${row.bytes}` : undefined,
    typeof row.line_count === 'number' ? `lines=${row.line_count}` : undefined,
    status === undefined ? undefined : `status=${oneLine(status, 60)}`,
    status === undefined && row.missing === true ? 'status=missing' : undefined,
  ].filter((fact) => fact !== undefined)
  return `- ${shortPath(row.path, limits)}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`
}

function pathList(paths: readonly string[], limits: Caps): string {
  const more = paths.length - limits.readPaths
  const shown = paths.slice(0, limits.readPaths).map((path) => shortPath(path, limits))
  return `[${shown.join(', ')}${more > 0 ? `, … ${more} more` : ''}]`
}

/**
 * The lines for paths that are already visible. `refs` tells at which path each of them is visible. It is an object with paths as keys, or
 * a list of rows with a path and a location.
 */
function visibleLines(visible: ReadonlySet<string>, refs: unknown, limits: Caps): readonly string[] {
  const locationOf = (path: string): string | undefined => {
    if (isObject(refs)) return stringsIn([refs[path]])[0] ?? stringsIn(refs[path])[0]
    const row = Array.isArray(refs) ? refs.find((item) => isObject(item) && item.path === path) : undefined
    return isObject(row) ? stringsIn([row.visible_at, row.ref, row.block])[0] : undefined
  }
  return [...visible].slice(0, limits.readPaths).map((path) => {
    const location = locationOf(path)
    return `- ${shortPath(path, limits)}${location === undefined ? '' : ` at ${shortPath(location, limits)}`}`
  })
}

/** The SIDs of a search or fetch result. Empty for any other payload. */
export const rowSids = (payload: Json | undefined): readonly number[] => sourceRowsIn(payload).map(({ sid }) => sid)

/**
 * Renders a search or fetch result with its path and its rows. Rows that exceed the limit are left out as a whole, so that the shown text
 * is valid JSON.
 */
export function renderSourceRows(payload: Json, sids: readonly number[], limits: Caps): string {
  const [shown, count, total] = rowsThatFit(payload, limits)
  return joinLines(
    `logical_path: ${shortSourcesPath(
      sids.toSorted((a, b) => a - b),
      limits.path,
    )}`,
    'mime: application/json',
    count < total ? `rows: ${count} of ${total} shown` : undefined,
    'payload:',
    shown,
  )
}

function rowsThatFit(payload: Json, limits: Caps): readonly [text: string, count: number, total: number] {
  const entries: readonly (readonly [string | undefined, Json])[] = Array.isArray(payload)
    ? payload.map((row) => [undefined, row] as const)
    : Object.entries(payload as { readonly [url: string]: Json }) // a list or an object, because `rowSids` found rows in it
  const kept: string[] = []
  let size = 2
  for (const [url, row] of entries) {
    const text = `${url === undefined ? '' : `${JSON.stringify(url)}:`}${scrubBase64(JSON.stringify(row, omitHostingFields))}`
    size += text.length + 1
    if (size > limits.sourceRows) break
    kept.push(text)
  }
  const body = kept.join(',')
  return [Array.isArray(payload) ? `[${body}]` : `{${body}}`, kept.length, entries.length]
}
