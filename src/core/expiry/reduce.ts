import { isObject, type Json, type JsonObject } from '../json.ts'
import { cutText } from './shorten.ts'

const rowKeys = ['sid', 'url', 'title', 'path', 'mime', 'text', 'content_symbols', 'content_preview', 'content_length']
const hitKeys = ['turn_id', 'score', 'scores', 'ts', 'text']
const snippetKeys = ['role', 'path', 'ts', 'text']
const PREVIEW = 320

/** Tools that look things up: what they found can be found again, so their results are the first to go. */
export function isLookupTool(toolId: string | undefined): boolean {
  return toolId !== undefined && /(?:^|[._])(?:memsearch|search|fetch)(?:$|[._])/.test(toolId)
}

/** Of what a look-up found, only what is needed to find it again. Other results as they are. */
export function reduceResult(toolId: string | undefined, result: Json): Json {
  if (!isLookupTool(toolId)) return result
  return toolId === 'react.memsearch' ? reduceHits(result) : reduceRows(result)
}

function reduceRows(result: Json): Json {
  if (Array.isArray(result)) return result.map((row: Json) => (isJsonObject(row) ? reduceRow(row) : row))
  return isJsonObject(result) && 'url' in result ? reduceRow(result) : result
}

function reduceRow(row: JsonObject): Json {
  const preview =
    typeof row.content === 'string' ? { content_preview: cutText(row.content, PREVIEW), content_length: row.content.length } : {}
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
