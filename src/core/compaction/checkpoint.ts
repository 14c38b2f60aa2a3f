import { type Block, type BlockType, callIdOf, type Draft, isHidden } from '../block/block.ts'
import { readPlan } from '../block/plan.ts'
import { isResultMetadata, readDigest, readToolCall, type ToolCall } from '../block/round.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { cutToTokens } from '../estimate/tokens.ts'
import { parseJson } from '../json.ts'
import { midTurnPath, sourcesPath, turnIndexPath } from '../path/build.ts'
import { caps } from '../render/caps.ts'
import { stripHostingHandles } from '../render/hosting-handles.ts'
import { cutText, lastWithin, oneLine, scrubBase64, shapeOf } from '../render/text.ts'
import type { BlocksHidden } from '../timeline/change.ts'

const CHECKPOINT = 'react.current_turn.compaction_checkpoint'
const NARRATIVE_CHARS = 12_000
const MAX_TOKENS = 15_000
const FIXED_TOKENS = 160
/**
 * If a checkpoint replaces the message that started the turn, it repeats at most this many characters of the message. From these characters
 * the agent still knows the request.
 */
const PROMPT_CHARS = 2_000

/**
 * The greatest numbers of tokens for the parts of a checkpoint. `room` is the greatest number of tokens that the timeline may have. All
 * parts together have at most 35 % of `room`. With this limit, a checkpoint is short enough to be rendered without being cut.
 */
function limitsOf(room: number) {
  const total = Math.min(MAX_TOKENS, Math.floor(0.35 * room)) - FIXED_TOKENS
  return {
    total,
    narrative: 0.4 * total,
    /** The limit for the list of replaced user input, and also for the list of hidden blocks. */
    list: Math.min(1500, 0.12 * total),
    calls: Math.max(750, 0.1125 * room),
  }
}

/**
 * A checkpoint does not replace user input whose block has fewer tokens than this limit. The limit is 12,000 or 30 % of `room`, whichever
 * is less.
 */
const largeInput = (room: number) => Math.min(12_000, Math.floor(0.3 * room))

/**
 * The block that replaces the beginning of a running turn. It contains the summary that a model wrote (`text`), if there is one. It also
 * contains a list of the tool calls with the paths of their results.
 * - `prefix`: all blocks of the turn before the cut, including those that earlier checkpoints replaced.
 * - `folded`: the blocks that this checkpoint replaces.
 */
export function checkpointBlock(
  prefix: readonly Block[],
  input: {
    readonly turnId: string
    readonly now: string
    readonly text: string | undefined
    readonly folded: readonly Block[]
    /** The greatest number of tokens that the timeline may have. */
    readonly room: number
  },
  tokens: Estimator,
): Draft<typeof CHECKPOINT> {
  const { turnId } = input
  const number = checkpointsIn(prefix) + 1
  const limits = limitsOf(input.room)
  const narrative = input.text?.trim()
    ? cutToTokens(cutText(input.text.trim(), NARRATIVE_CHARS), limits.narrative, tokens.text)
    : 'none: the summariser gave no text; rely on the ledger'
  const hidden = new Set([...prefix.filter(isHidden), ...input.folded])
  const hiddenInput = prefix.filter((block) => hidden.has(block) && (block.type.startsWith('user.') || block.type === 'react.note'))
  const lists = [...foldedInputLines(hiddenInput, limits.list, tokens), ...hiddenLines(prefix, limits.list, tokens)]
  const left = limits.total - tokens.text(narrative) - tokens.text(lists.join('\n'))
  const calls = callList(prefix, turnId, tokens, Math.max(0, Math.min(limits.calls, left)))
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
      ...lists,
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

/**
 * The blocks that a checkpoint replaces: decisions, calls, results, files, outdated plan blocks, and very large user input. Notes and the
 * newest block of each plan stay visible, up to `LASTING_SHARE` of `room`. If notes and plans have more tokens together, the checkpoint
 * replaces the plans first and then the oldest notes. The announce still shows the plans.
 */
export function foldedByCheckpoint(prefix: readonly Block[], tokens: Estimator, room: number): readonly Block[] {
  const newestPlans = new Map(prefix.flatMap((block) => (readPlan(block) ? [[readPlan(block)?.plan_id, block] as const] : [])))
  const isNewestPlan = (block: Block) => newestPlans.get(readPlan(block)?.plan_id) === block
  // Earlier checkpoints have already replaced the blocks that are hidden for the reason `compaction`.
  const visible = prefix.filter(({ meta }) => meta?.hidden_reason !== 'compaction')
  const lasting = visible.filter((block) => block.type === 'react.note' || isNewestPlan(block))
  const notesLast = [...lasting.filter(isNewestPlan), ...lasting.filter((block) => !isNewestPlan(block))]
  const kept = new Set(lastWithin(notesLast, LASTING_SHARE * room, (block) => tokens.content(block)))
  return visible.filter((block) => {
    if (block.type === 'turn.header' || kept.has(block)) return false
    if (loopTypes.has(block.type) || block.type === 'react.note' || readPlan(block)) return true
    if (block.type.startsWith('user.')) return tokens.content(block) >= largeInput(room)
    return block.path?.startsWith('fi:') === true || block.path?.startsWith('so:') === true
  })
}

/** The greatest share of `room` that the notes and plans which stay visible may have. */
const LASTING_SHARE = 0.2

/**
 * Lists the paths of the user input and the notes that the checkpoint replaces. If not all paths fit within `maxTokens`, only the newest
 * are listed. The agent finds all paths of the turn in the turn index, a text that it can read at `ar:<turn>.react.turn.index`.
 */
function foldedInputLines(inputs: readonly Block[], maxTokens: number, tokens: Estimator): readonly string[] {
  const paths = new Map(inputs.flatMap((block) => (block.path === undefined ? [] : [[block.path, block] as const])))
  const all = [...paths].map(([path, { type, text }]) => {
    const excerpt = text ? ` | ${oneLine(text, type === 'user.prompt' ? PROMPT_CHARS : 180)}` : ''
    return cutToTokens(`- ${path}${excerpt}`, maxTokens / 2, tokens.text)
  })
  const shown = lastWithin(all, maxTokens, (line) => tokens.text(line) + 1)
  if (all.length === 0) return []
  return ['folded_input:', ...(all.length > shown.length ? [`- ... ${all.length - shown.length} earlier`] : []), ...shown]
}

/** Lists the texts that replace hidden blocks of this turn in the prompt, but only the newest if not all fit within `maxTokens`. */
function hiddenLines(prefix: readonly Block[], maxTokens: number, tokens: Estimator): readonly string[] {
  const all = prefix.flatMap((block) => {
    const words = replacementOf(block)
    return words && block.path !== undefined
      ? [cutToTokens(`- ${block.path} | ${oneLine(scrubBase64(words), 400)}`, maxTokens / 2, tokens.text)]
      : []
  })
  const shown = lastWithin([...new Set(all)], maxTokens, (line) => tokens.text(line) + 1)
  return shown.length === 0 ? [] : ['hidden_content:', ...shown]
}

const FOLDED_INTO = 'folded into '

/**
 * The changes that hide the blocks which a checkpoint replaces. A block that was already hidden keeps its replacement text, because later
 * checkpoints list this text.
 */
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
 * Lists the calls among the blocks in at most `maxTokens` tokens. The newest calls are described in full and take up to half of the tokens.
 * Older calls take one line each, in the other half. The list leaves out the calls that do not fit. The agent finds them in the turn index,
 * a text that it can read at `ar:<turn>.react.turn.index`.
 */
function callList(blocks: readonly Block[], turnId: string, tokens: Estimator, maxTokens: number): readonly string[] {
  const calls = callsWithResults(blocks).toReversed()
  const full = firstWithin(calls, (each) => fullEntry(each, tokens), maxTokens / 2, tokens)
  const brief = firstWithin(calls.slice(full.length), briefLine, maxTokens / 2, tokens)
  const more = calls.length - full.length - brief.length
  return [
    ...(more > 0 ? [`... ${more} earlier calls: react.read(["${turnIndexPath(turnId)}"]) lists every call and file of this turn`] : []),
    ...brief.toReversed(),
    ...full.toReversed(),
  ]
}

function firstWithin(
  calls: readonly CallWithResults[],
  describe: (call: CallWithResults) => string,
  maxTokens: number,
  tokens: Estimator,
): readonly string[] {
  const texts: string[] = []
  let size = 0
  for (const call of calls) {
    const text = describe(call)
    size += tokens.text(text)
    if (size > maxTokens) break
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

/**
 * The replacement text that `react.hide` or the expiry of the cache gave a block. A checkpoint that replaced the block later has kept this
 * text.
 */
export function replacementOf({ meta }: Block): string | undefined {
  if (meta?.hidden !== true) return undefined
  return meta.hidden_reason === 'compaction' && meta.replacement_text?.startsWith(FOLDED_INTO) ? undefined : meta.replacement_text
}

/**
 * Describes a call in one line, with the path of its result, such as `tc:turn_1.c1.result`. The path of the call has `call` in place of
 * `result`, so the model can derive it.
 */
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
