import { type Block, callIdOf } from '../block/block.ts'
import { readDigest } from '../block/digest.ts'
import { readToolCall, type ToolCall } from '../block/tool.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { cutText } from '../expiry/shorten.ts'
import { parseJson } from '../json.ts'
import { sourcesPath, turnIndexPath } from '../path/build.ts'
import { caps } from '../render/caps.ts'
import { scrubBase64 } from '../render/redact.ts'
import { stripHostingHandles } from '../render/secrets.ts'
import { shapeOf } from '../render/shape.ts'
import { oneLine } from '../render/text.ts'

const PARAMS_CHARS = 1800
const HINT_CHARS = 220
const shapeLimits = { ...caps, shape: 300, shapeDepth: 2, shapeItems: 6 }

interface CallWithResults {
  readonly call: ToolCall
  readonly block: Block
  readonly results: readonly Block[]
}

/**
 * Every call of the blocks, made from the blocks themselves and never from what an older checkpoint said of them. The newest are told
 * in full within `maxChars`, the older ones in a line each within half of that; the turn index has the rest.
 */
export function callReport(blocks: readonly Block[], turnId: string, tokens: Estimator, maxChars: number): readonly string[] {
  const calls = callsWithResults(blocks).toReversed()
  const full = firstWithin(calls, (each) => fullEntry(each, tokens), maxChars)
  const brief = firstWithin(calls.slice(full.length), briefLine, maxChars / 2)
  const more = calls.length - full.length - brief.length
  return [
    ...(more > 0 ? [`... ${more} earlier calls: react.read(["${turnIndexPath(turnId)}"]) lists every call and file of this turn`] : []),
    ...brief.toReversed(),
    ...full.toReversed(),
  ]
}

function firstWithin(calls: readonly CallWithResults[], tell: (call: CallWithResults) => string, maxChars: number): readonly string[] {
  const told: string[] = []
  let length = 0
  for (const call of calls) {
    const text = tell(call)
    length += text.length + 1
    if (length > maxChars) break
    told.push(text)
  }
  return told
}

function callsWithResults(blocks: readonly Block[]): readonly CallWithResults[] {
  const results = new Map<string, Block[]>()
  const calls: CallWithResults[] = []
  for (const block of blocks) {
    const callId = callIdOf(block)
    if (callId === undefined) continue
    const group = results.get(callId) ?? []
    results.set(callId, group)
    const call = readToolCall(block)
    if (call) calls.push({ call, block, results: group })
    else if (block.type === 'react.tool.result') group.push(block)
  }
  return calls
}

function fullEntry({ call, block, results }: CallWithResults, tokens: Estimator): string {
  const said = results.findLast((result) => !readDigest(result) && result.text !== undefined)
  const files = filesOf(results)
  const sids = [
    ...new Set(results.flatMap((result) => [...(result.meta?.sources_used ?? []), ...(readDigest(result)?.sources_used ?? [])])),
  ]
  return [
    `- tool_call_id: ${call.tool_call_id}`,
    `  tool: ${call.tool_id}`,
    `  call: ${block.path ?? 'not addressable'}`,
    `  params: ${cutText(scrubBase64(JSON.stringify(call.params)), PARAMS_CHARS)}`,
    ...resultLines(said, tokens),
    ...(files.length > 0 ? [`  files: ${files.join(', ')}`] : []),
    ...(sids.length > 0 ? [`  sources: ${sourcesPath(sids)}`] : []),
  ].join('\n')
}

function resultLines(result: Block | undefined, tokens: Estimator): readonly string[] {
  if (!result) return []
  const text = result.text ?? ''
  const value = parseJson(text)
  return [
    `  result: ${result.path ?? 'not addressable'}`,
    `  result_tokens_estimate: ${tokens.content(result)}`,
    ...(value === undefined ? [] : [`  result_shape: ${shapeOf(value, shapeLimits).replaceAll('\n', ' / ')}`]),
    `  result_hint: ${oneLine(scrubBase64(hideReplacement(result) ?? stripHostingHandles(text)), HINT_CHARS)}`,
  ]
}

/** What somebody said of it when hiding it; a checkpoint only says that it folded it. */
function hideReplacement({ meta }: Block): string | undefined {
  return meta?.hidden === true && meta.hidden_reason !== 'compaction' ? meta.replacement_text : undefined
}

/** The result's address; the call's is the same but for its last word. */
function briefLine({ call, block, results }: CallWithResults): string {
  const answered = results.findLast((result) => result.path?.startsWith('tc:'))
  return `- ${[answered?.path ?? block.path ?? call.tool_call_id, call.tool_id, ...filesOf(results)].join(' | ')}`
}

const filesOf = (results: readonly Block[]): readonly string[] => [
  ...new Set(
    results.flatMap((result) => [readDigest(result)?.artifact_path ?? [], result.path?.startsWith('fi:') ? result.path : []].flat()),
  ),
]
