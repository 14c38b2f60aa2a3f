import { type Block, readDigest, readToolCall } from '../../core/block/index.ts'
import { readDecision } from '../../core/decision/read.ts'
import { responseFrom } from '../../core/decision/response.ts'
import { toolPath } from '../../core/path/build.ts'
import { isWhole } from '../../core/timeline/artifacts.ts'
import type { Resolved } from '../../core/timeline/resolve.ts'
import type { Call } from '../tool.ts'
import { type Found, missing } from './found.ts'
import { lookUp } from './lookup.ts'

/** What was said and done: `ar:`, `tc:`, `su:`, in the timeline or in the log of its turn. */
export async function findRecord(path: string, turn: string | undefined, call: Call): Promise<Found> {
  const resolved = await lookUp(path, call)
  if (resolved.status === 'view') return { kind: 'text', path, mime: 'text/markdown', text: resolved.text, capped: true }
  if (resolved.status === 'blocks') return contentOf(path, resolved, call)
  if (turn === undefined || (await call.records.byTurn(turn)).length > 0) return missing(path)
  return missing(path, 'turn_log_missing')
}

/** The real payload, not what is told about it; several notices of one call are read together. */
async function contentOf(path: string, { blocks }: Extract<Resolved, { status: 'blocks' }>, call: Call): Promise<Found> {
  const notices = blocks.filter(({ type }) => type === 'react.notice')
  if (notices.length > 1) return textFound(path, notices.at(-1), notices.map(({ text = '' }) => text).join('\n\n'))
  const newest = blocks.findLast((block) => block.text !== undefined && isWhole(block) && !readDigest(block))
  const binary = newest ? undefined : blocks.findLast(({ blob }) => blob !== undefined)
  if (binary?.blob) return { kind: 'binary', path, mime: binary.mime ?? 'application/octet-stream', blob: binary.blob }
  const block = newest ?? blocks.findLast(({ text }) => text !== undefined)
  if (block?.text === undefined) return missing(path)
  return textFound(path, block, block.type === 'react.tool.call' ? await wholeCall(block, call) : block.text)
}

const textFound = (path: string, block: Block | undefined, text: string): Found => ({
  kind: 'text',
  path,
  mime: block?.mime ?? 'text/markdown',
  text,
  capped: true,
})

const shortened = /"full_value_ref":|\.\.\. \[see |"\.\.\.":"\d+ more keys"|"\.\.\. \(\d+ more\)"/

/** The block shows large parameters by their beginnings; the model's own words are in its response. */
async function wholeCall(block: Block, call: Call): Promise<string> {
  const shown = readToolCall(block)
  if (!shown || !shortened.test(block.text ?? '')) return block.text ?? ''
  const response = await call.records.response?.(shown.tool_call_id)
  if (!response) return block.text ?? ''
  const finishReason = response.finish_reason === 'length' ? 'length' : 'stop'
  const reading = readDecision(responseFrom(response.raw, { finishReason, maxTokens: 0 }), {})
  if (!reading.ok || reading.decision.action !== 'call_tool') return block.text ?? ''
  return JSON.stringify({ tool_id: shown.tool_id, tool_call_id: shown.tool_call_id, params: reading.decision.params, ts: shown.ts })
}

/** Where a block can be seen, for whoever is told that it is visible already. */
export const placeOf = (block: Block): string =>
  block.call_id === undefined ? (block.path ?? block.turn_id) : toolPath(block.turn_id, block.call_id, 'call')
