import { type Block, type BlockType, callIdOf, type Draft, isHidden } from '../block/block.ts'
import { readPlan } from '../block/plan.ts'
import { isResultMetadata, readDigest, readToolCall, type ToolCall } from '../block/round.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { parseJson } from '../json.ts'
import { midTurnPath, sourcesPath, turnIndexPath } from '../path/build.ts'
import { caps } from '../render/caps.ts'
import { cutText, lastLinesWithin, oneLine, scrubBase64, shapeOf, stripHostingHandles } from '../render/text.ts'
import type { BlocksHidden } from '../timeline/change.ts'

const CHECKPOINT = 'react.current_turn.compaction_checkpoint'
const LARGE_INPUT = 12_000
const NARRATIVE_CHARS = 12_000
const FOLDED_CHARS = 6000
const HIDDEN_CHARS = 6000

/**
 * The block that replaces the beginning of a running turn. It holds the summary that a model wrote (`text`), if there is one, and the list
 * of calls with the paths of their results. `prefix` are all blocks of the turn before the cut, also those that earlier checkpoints
 * replaced. `folded` are the blocks that this checkpoint replaces.
 */
export function checkpointBlock(
  prefix: readonly Block[],
  input: {
    readonly turnId: string
    readonly now: string
    readonly text: string | undefined
    readonly folded: readonly Block[]
    readonly maxCallListChars: number
  },
  tokens: Estimator,
): Draft<typeof CHECKPOINT> {
  const { turnId } = input
  const number = checkpointsIn(prefix) + 1
  const narrative = input.text?.trim()
    ? cutText(input.text.trim(), NARRATIVE_CHARS)
    : 'none: the summariser gave no text; rely on the ledger'
  const hidden = new Set([...prefix.filter(isHidden), ...input.folded])
  const hiddenInput = prefix.filter((block) => hidden.has(block) && block.type.startsWith('user.'))
  const calls = callList(prefix, turnId, tokens, input.maxCallListChars)
  return {
    type: CHECKPOINT,
    author: 'system',
    turn_id: turnId,
    ts: input.now,
    mime: 'text/markdown',
    path: midTurnPath(turnId, number),
    text: [
      `[MID-TURN COMPACTION ${number}]`,
      `turn_id: ${turnId}`,
      `position: the steps of this turn before here were folded; the steps after it are whole`,
      'use: as what you have done so far in this turn; do not repeat it',
      `recovery: react.read the paths below; react.read(["${turnIndexPath(turnId)}"]) lists everything of this turn`,
      'semantic_progress:',
      narrative,
      ...foldedInputLines(hiddenInput),
      ...hiddenLines(prefix),
      'engineering_ledger:',
      ...(calls.length > 0 ? calls : ['- no calls']),
      `[/MID-TURN COMPACTION ${number}]`,
    ].join('\n'),
    meta: { checkpoint: number },
  }
}

const checkpointsIn = (blocks: readonly Block[]): number => blocks.filter(({ type }) => type === CHECKPOINT).length

const loopTypes: ReadonlySet<BlockType> = new Set([
  'react.notes',
  'react.thinking',
  'react.decision.raw',
  'react.tool.code',
  'react.tool.call',
  'react.tool.result',
  'react.notice',
  'react.plan.ack',
  'react.completion',
  CHECKPOINT,
])

/** The blocks that a checkpoint replaces: decisions, calls, results and files of the turn, older plans, and very large user input. */
export function foldedByCheckpoint(prefix: readonly Block[], tokens: Estimator): readonly Block[] {
  const newestPlans = new Map(prefix.flatMap((block) => (readPlan(block) ? [[readPlan(block)?.plan_id, block] as const] : [])))
  return prefix.filter((block) => {
    if (block.meta?.hidden_reason === 'compaction') return false // an earlier checkpoint already replaces this block
    if (block.type === 'turn.header' || block.type === 'react.note') return false // notes are short and must stay visible
    if (loopTypes.has(block.type)) return true
    if (block.type.startsWith('user.')) return tokens.content(block) >= LARGE_INPUT
    const plan = readPlan(block)
    if (plan) return newestPlans.get(plan.plan_id) !== block
    return block.path?.startsWith('fi:') === true || block.path?.startsWith('so:') === true
  })
}

/** Lists the paths of the user input that the checkpoint replaces. Only the newest that fit are listed; the turn index lists all. */
function foldedInputLines(inputs: readonly Block[]): readonly string[] {
  const paths = new Map(inputs.flatMap((block) => (block.path === undefined ? [] : [[block.path, block] as const])))
  const all = [...paths].map(([path, { text }]) => `- ${path}${text ? ` | ${oneLine(text, 180)}` : ''}`)
  const shown = lastLinesWithin(all, FOLDED_CHARS)
  if (all.length === 0) return []
  return ['folded_input:', ...(all.length > shown.length ? [`- ... ${all.length - shown.length} earlier`] : []), ...shown]
}

/** The words with which the agent hid content of this turn. Only the newest that fit are listed. */
function hiddenLines(prefix: readonly Block[]): readonly string[] {
  const all = prefix.flatMap((block) => {
    const words = replacementOf(block)
    return words && block.path !== undefined ? [`- ${block.path} | ${oneLine(scrubBase64(words), 400)}`] : []
  })
  const shown = lastLinesWithin([...new Set(all)], HIDDEN_CHARS)
  return shown.length === 0 ? [] : ['hidden_content:', ...shown]
}

const FOLDED_INTO = 'folded into '

/** The changes that replace these blocks by a checkpoint. A block that was hidden before keeps its replacement text for later checkpoints. */
export function foldBlocks(blocks: readonly Block[], checkpointPath: string | undefined): readonly BlocksHidden[] {
  const fold = (ids: readonly string[], replacement_text: string): BlocksHidden => ({
    type: 'blocks.hidden',
    ids,
    replacement_text,
    reason: 'compaction',
  })
  const others = blocks.filter((block) => !replacementOf(block)).map(({ id }) => id)
  return [
    ...(others.length > 0 ? [fold(others, `${FOLDED_INTO}${checkpointPath}`)] : []),
    ...blocks.flatMap((block) => {
      const words = replacementOf(block)
      return words ? [fold([block.id], words)] : []
    }),
  ]
}

const PARAMS_CHARS = 1800
const HINT_CHARS = 220
const shapeLimits = { ...caps, shape: 300, shapeDepth: 2, shapeItems: 6 }

interface CallWithResults {
  readonly call: ToolCall
  readonly block: Block
  readonly results: readonly Block[]
}

/**
 * Lists the calls among the blocks. The newest calls are listed in full, in at most `maxChars` characters. Older calls take one line each,
 * in at most half as many characters. The turn index lists the rest. The text of earlier checkpoints is not used.
 */
function callList(blocks: readonly Block[], turnId: string, tokens: Estimator, maxChars: number): readonly string[] {
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

function firstWithin(calls: readonly CallWithResults[], describe: (call: CallWithResults) => string, maxChars: number): readonly string[] {
  const texts: string[] = []
  let length = 0
  for (const call of calls) {
    const text = describe(call)
    length += text.length + 1
    if (length > maxChars) break
    texts.push(text)
  }
  return texts
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
  const report = results.findLast((result) => !readDigest(result) && result.text !== undefined)
  const files = filesOf(results)
  const sids = [
    ...new Set(results.flatMap((result) => [...(result.meta?.sources_used ?? []), ...(readDigest(result)?.sources_used ?? [])])),
  ]
  return [
    `- tool_call_id: ${call.tool_call_id}`,
    `  tool: ${call.tool_id}`,
    `  call: ${block.path ?? 'not addressable'}`,
    `  params: ${cutText(scrubBase64(JSON.stringify(call.params)), PARAMS_CHARS)}`,
    ...resultLines(report, tokens),
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
    `  result_hint: ${oneLine(scrubBase64(replacementOf(result) ?? stripHostingHandles(text)), HINT_CHARS)}`,
  ]
}

/** The replacement text of a block that was hidden or has expired, also after a checkpoint replaced the block. */
export function replacementOf({ meta }: Block): string | undefined {
  if (meta?.hidden !== true) return undefined
  return meta.hidden_reason === 'compaction' && meta.replacement_text?.startsWith(FOLDED_INTO) ? undefined : meta.replacement_text
}

/** A call in one line with the path of its result. The model can derive the path of the call, which differs only in the last word. */
function briefLine({ call, block, results }: CallWithResults): string {
  const result = results.findLast(({ path }) => path?.startsWith('tc:'))
  return `- ${[result?.path ?? block.path ?? call.tool_call_id, call.tool_id, ...filesOf(results)].join(' | ')}`
}

const filesOf = (results: readonly Block[]): readonly string[] => [
  ...new Set(
    results
      .filter((result) => !isResultMetadata(result))
      .flatMap((result) => [readDigest(result)?.artifact_path ?? [], result.path?.startsWith('fi:') ? result.path : []].flat()),
  ),
]
