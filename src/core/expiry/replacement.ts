import { digestText } from '../block/artifact.ts'
import { type Block, type BlockType, callIdOf } from '../block/block.ts'
import { isResultMetadata, readDigest, readToolCall } from '../block/round.ts'
import { binaryContentOf, type Estimator } from '../estimate/estimate.ts'
import { isObject, type Json, type JsonObject, parseJson } from '../json.ts'
import { stripHostingHandles } from '../render/hosting-handles.ts'
import { cutText, oneLine, type ShortenLimits, shortenJson } from '../render/text.ts'
import type { ExpirySettings } from './expiry.ts'

/** Blocks at one path that are hidden together. */
export interface ExpiryGroup {
  readonly path: string
  /** The blocks, oldest first. Never empty. */
  readonly blocks: readonly Block[]
  /** The tool that made the newest block, if a tool made it. */
  readonly toolId: string | undefined
}

/** Blocks of these types are hidden without a replacement text. They only comment on rounds that are also hidden. */
const silentTypes: ReadonlySet<BlockType> = new Set(['react.thinking', 'react.notes', 'react.notice', 'stage.suggested_followups'])

/**
 * The text that replaces a group of hidden blocks in the prompt. It has a limited size and contains what the agent needs to find the
 * content again.
 */
export function replacementText(group: ExpiryGroup, settings: ExpirySettings, tokens: Estimator): string {
  const newest = group.blocks.at(-1) as Block // groups are never empty
  if (silentTypes.has(newest.type)) return ''
  const originalTokens = group.blocks.reduce((sum, block) => sum + tokens.content(block), 0)
  return fitReplacement(draftReplacement(group, settings), group.path, originalTokens, settings.replacementMaxTokens, tokens)
}

/** The replacement text before its size is limited. */
export function draftReplacement({ path, blocks, toolId }: ExpiryGroup, settings: ExpirySettings): string {
  const newest = blocks.at(-1) as Block // groups are never empty
  if (newest.meta?.kind === 'cache_ttl_pruned') return 'An older notice that context was shortened.'
  if (newest.type === 'react.tool.call') return callText(newest, limitsOf(settings, settings.maxFieldChars))
  if (path.startsWith('sk:')) return 'The skill text was removed here; it may be visible elsewhere.'
  if (path.startsWith('fi:')) return fileText(path, blocks)
  if (newest.type === 'react.tool.result') return resultText({ path, blocks, toolId }, limitsOf(settings, settings.maxToolTextChars))
  return `[TRUNCATED] ${cutText(stripHostingHandles(newest.text ?? ''), settings.maxTextChars)}`
}

const limitsOf = (settings: ExpirySettings, text: number): ShortenLimits => ({ text, items: settings.maxListItems, keys: settings.maxKeys })

function callText(block: Block, limits: ShortenLimits): string {
  const call = readToolCall(block)
  if (!call) return `[TRUNCATED] ${cutText(block.text ?? '', limits.text)}`
  const { value, truncated } = shortenJson(call.params as Json, limits) // the parameters were parsed from JSON
  return JSON.stringify({ tool_id: call.tool_id, tool_call_id: call.tool_call_id, params: value, ...(truncated && { truncated }) })
}

function resultText({ blocks, toolId }: ExpiryGroup, limits: ShortenLimits): string {
  const digests = blocks.flatMap((block) => (isResultMetadata(block) ? [] : (readDigest(block) ?? [])))
  const report = blocks.findLast((block) => !readDigest(block))
  if (!report) return digests.map((digest) => stripHostingHandles(digestText(digest))).join('\n')
  const text = stripHostingHandles(report.text ?? '')
  const result = reduceResult(toolId, parseJson(text) ?? text)
  const { value, truncated } = shortenJson(result, limits)
  return JSON.stringify({
    tool_id: toolId,
    tool_call_id: callIdOf(report),
    result: value,
    ...(digests.length > 0 && { artifacts: digests.map(({ artifact_path }) => artifact_path) }),
    ...(truncated && { truncated }),
  })
}

function fileText(path: string, blocks: readonly Block[]): string {
  const facts: Readonly<Record<string, string | number>> = Object.assign({}, ...blocks.map(fileFacts))
  const fields = [`path=${path}`, ...['mime', 'size', 'summary'].flatMap((key) => (facts[key] === undefined ? [] : `${key}=${facts[key]}`))]
  return `[TRUNCATED FILE] ${fields.join(' ')}`
}

function fileFacts(block: Block): { readonly [key: string]: string | number } {
  const digest = readDigest(block)
  const fields: { readonly [key: string]: unknown } = { ...block.meta, ...digest }
  const size = fields.size_bytes ?? binaryContentOf(block)?.size ?? block.text?.length
  const mime = digest?.mime ?? block.mime
  const summary = fields.summary ?? fields.description
  return {
    ...(mime !== undefined && { mime }),
    ...(typeof size === 'number' && { size }),
    ...(typeof summary === 'string' && { summary: oneLine(summary, 180) }),
  }
}

const compactLimits = { text: 320, items: 8, keys: 16 }
const MIN_BOUND = 24
const KEY_LINES = 12

/**
 * Limits the size of a replacement text. Four forms are tried until one is short enough: the draft, the draft with its long parts cut, the
 * first lines, and only the path.
 */
function fitReplacement(draft: string, path: string, originalTokens: number, maxTokens: number, tokens: Estimator): string {
  const bound = Math.min(Math.max(MIN_BOUND, maxTokens), Math.max(originalTokens + 64, 2 * originalTokens))
  const fits = (text: string) => !tokens.reaches(text, bound + 1)
  if (fits(draft)) return draft
  const value = parseJson(draft)
  const compact = value === undefined ? cutText(draft, compactLimits.text) : JSON.stringify(shortenJson(value, compactLimits).value)
  if (fits(compact)) return compact
  const lines = keyLines(value ?? draft)
  return fits(lines) ? lines : `[TRUNCATED] path=${path}`
}

function keyLines(value: Json): string {
  const lines = isObject(value)
    ? Object.entries(value).map(([key, field]) => `${key}: ${oneLine(typeof field === 'string' ? field : JSON.stringify(field), 60)}`)
    : String(value).split('\n', KEY_LINES)
  return lines
    .slice(0, KEY_LINES)
    .map((line) => oneLine(line, 80))
    .join('\n')
}

const rowKeys = ['sid', 'url', 'title', 'path', 'mime', 'text', 'content_symbols', 'content_preview', 'content_length']
const hitKeys = ['turn_id', 'score', 'scores', 'ts', 'text']
const snippetKeys = ['role', 'path', 'ts', 'text']
const PREVIEW_CHARS = 320

/** True for tools that search or fetch. A call of such a tool can be repeated, so its results are hidden first. */
export function isLookupTool(toolId: string | undefined): boolean {
  return toolId !== undefined && /(?:^|[._])(?:memsearch|search|fetch)(?:$|[._])/.test(toolId)
}

/**
 * Reduces the result of a search or fetch to the fields with which the agent can find the content again. Results of other tools are not
 * changed.
 */
function reduceResult(toolId: string | undefined, result: Json): Json {
  if (!isLookupTool(toolId)) return result
  return toolId === 'react.memsearch' ? reduceHits(result) : reduceRows(result)
}

function reduceRows(result: Json): Json {
  if (Array.isArray(result)) return result.map((row: Json) => (isJsonObject(row) ? reduceRow(row) : row))
  return isJsonObject(result) && 'url' in result ? reduceRow(result) : result
}

function reduceRow(row: JsonObject): Json {
  const preview =
    typeof row.content === 'string' ? { content_preview: cutText(row.content, PREVIEW_CHARS), content_length: row.content.length } : {}
  return pick({ ...preview, ...row }, rowKeys)
}

function reduceHits(result: Json): Json {
  const hits = Array.isArray(result) ? result : isJsonObject(result) && Array.isArray(result.hits) ? result.hits : undefined
  if (hits === undefined) return result
  const reduced = hits.map((hit: Json) => (isJsonObject(hit) ? reduceHit(hit) : hit))
  return Array.isArray(result) ? reduced : { hits: reduced }
}

function reduceHit(hit: JsonObject): Json {
  const snippets = Array.isArray(hit.snippets)
    ? { snippets: hit.snippets.map((snippet: Json) => (isJsonObject(snippet) ? pick(snippet, snippetKeys) : snippet)) }
    : {}
  return { ...pick(hit, hitKeys), ...snippets }
}

const isJsonObject = (value: Json): value is JsonObject => isObject(value)
const pick = (object: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(keys.flatMap((key) => (object[key] === undefined ? [] : [[key, object[key]]])))
