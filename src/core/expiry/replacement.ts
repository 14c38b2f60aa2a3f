import { type Block, callIdOf } from '../block/block.ts'
import { digestText, readDigest } from '../block/digest.ts'
import { readToolCall } from '../block/tool.ts'
import { binaryContentOf } from '../estimate/binary.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { isObject, type Json, parseJson } from '../json.ts'
import { stripHostingHandles } from '../render/secrets.ts'
import { oneLine } from '../render/text.ts'
import { fitReplacement } from './bound.ts'
import { reduceResult } from './reduce.ts'
import type { ExpirySettings } from './settings.ts'
import { cutText, type ShortenLimits, shortenJson } from './shorten.ts'

/** Blocks at one path that are folded together, oldest first, never empty; and the tool that made them. */
export interface ExpiryGroup {
  readonly path: string
  readonly blocks: readonly Block[]
  readonly toolId: string | undefined
}

/** Folded without a word: they explain rounds that are themselves folded. */
const silentTypes: ReadonlySet<string> = new Set(['react.thinking', 'react.notes', 'react.notice', 'stage.suggested_followups'])

/** What stands for the folded blocks: short enough to be worth it, and always enough to find them again. */
export function replacementText(folding: ExpiryGroup, settings: ExpirySettings, tokens: Estimator): string {
  const newest = folding.blocks.at(-1) as Block // a folding is never empty
  if (silentTypes.has(newest.type)) return ''
  const original = folding.blocks.reduce((sum, block) => sum + tokens.content(block), 0)
  return fitReplacement(draftReplacement(folding, settings), folding.path, original, settings.replacementMaxTokens, tokens)
}

/** Before it is held to its bound. */
export function draftReplacement({ path, blocks, toolId }: ExpiryGroup, settings: ExpirySettings): string {
  const newest = blocks.at(-1) as Block // a folding is never empty
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
  const { value, truncated } = shortenJson(call.params as Json, limits) // it was JSON text
  return JSON.stringify({ tool_id: call.tool_id, tool_call_id: call.tool_call_id, params: value, ...(truncated && { truncated }) })
}

function resultText({ blocks, toolId }: ExpiryGroup, limits: ShortenLimits): string {
  const digests = blocks.flatMap((block) => readDigest(block) ?? [])
  const said = blocks.findLast((block) => !readDigest(block))
  if (!said) return digests.map((digest) => stripHostingHandles(digestText(digest))).join('\n')
  const text = stripHostingHandles(said.text ?? '')
  const result = reduceResult(toolId, parseJson(text) ?? text)
  const { value, truncated } = shortenJson(result, limits)
  return JSON.stringify({
    tool_id: toolId,
    tool_call_id: callIdOf(said),
    result: value,
    ...(digests.length > 0 && { artifacts: digests.map(({ artifact_path }) => artifact_path) }),
    ...(truncated && { truncated }),
  })
}

function fileText(path: string, blocks: readonly Block[]): string {
  const about: Readonly<Record<string, string | number>> = Object.assign({}, ...blocks.map(aboutFile))
  const fields = [`path=${path}`, ...['mime', 'size', 'summary'].flatMap((key) => (about[key] === undefined ? [] : `${key}=${about[key]}`))]
  return `[TRUNCATED FILE] ${fields.join(' ')}`
}

function aboutFile(block: Block): { readonly [key: string]: string | number } {
  const digest = readDigest(block) ?? {}
  const meta = block.meta ?? {}
  const said = { ...meta, ...(isObject(digest) ? digest : {}) }
  const size = said.size_bytes ?? binaryContentOf(block)?.size ?? block.text?.length
  const mime = readDigest(block)?.mime ?? block.mime
  const summary = said.summary ?? said.description
  return {
    ...(mime !== undefined && { mime }),
    ...(typeof size === 'number' && { size }),
    ...(typeof summary === 'string' && { summary: oneLine(summary, 180) }),
  }
}
