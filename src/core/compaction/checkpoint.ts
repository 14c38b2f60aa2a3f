import { type Block, type BlockType, callIdOf, type Draft, isHidden } from '../block/block.ts'
import { readPlan } from '../block/plan.ts'
import { isResultMetadata, readDigest, readToolCall, type ToolCall } from '../block/round.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { cutToTokens } from '../estimate/tokens.ts'
import { parseJson } from '../json.ts'
import { midTurnPath, sourcesPath, turnIndexPath } from '../path/build.ts'
import { caps } from '../render/caps.ts'
import { cutText, lastWithin, oneLine, scrubBase64, shapeOf, stripHostingHandles } from '../render/text.ts'
import type { BlocksHidden } from '../timeline/change.ts'

const CHECKPOINT = 'react.current_turn.compaction_checkpoint'
const NARRATIVE_CHARS = 12_000
const MAX_TOKENS = 15_000
const FIXED_TOKENS = 160
/** How much of a replaced request is shown. The agent must know what it was asked for. */
const PROMPT_CHARS = 2_000

/** The most tokens of the parts of a checkpoint. All together take at most 35 % of the timeline's room, and are never cut when shown. */
function limitsOf(room: number) {
  const total = Math.min(MAX_TOKENS, Math.floor(0.35 * room)) - FIXED_TOKENS
  return {
    total,
    narrative: 0.4 * total,
    /** Of the list of replaced input, and of that of hidden content. */
    list: Math.min(1500, 0.12 * total),
    calls: Math.max(750, 0.1125 * room),
  }
}

/** Input of the user that a checkpoint replaces: from 12,000 tokens on, or from 30 % of the timeline's room on. */
const largeInput = (room: number) => Math.min(12_000, Math.floor(0.3 * room))

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
    /** How many tokens the timeline may have. */
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
 * The blocks that a checkpoint replaces: decisions, calls, results and files of the turn, older plans, and very large user input. In a small
 * context it also replaces plans, which ANNOUNCE shows, and the oldest notes.
 */
export function foldedByCheckpoint(prefix: readonly Block[], tokens: Estimator, room: number): readonly Block[] {
  const newestPlans = new Map(prefix.flatMap((block) => (readPlan(block) ? [[readPlan(block)?.plan_id, block] as const] : [])))
  const isNewestPlan = (block: Block) => newestPlans.get(readPlan(block)?.plan_id) === block
  const visible = prefix.filter(({ meta }) => meta?.hidden_reason !== 'compaction') // earlier checkpoints already replace the others
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

/** Which share of the timeline's room notes and plans may take beside a checkpoint. */
const LASTING_SHARE = 0.2

/** Lists the paths of the user input and the notes that the checkpoint replaces. Only the newest that fit are listed; the turn index lists all. */
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

/** The words with which the agent hid content of this turn. Only the newest that fit are listed. */
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
 * Lists the calls among the blocks, in at most `maxTokens` tokens. The newest calls are listed in full, in half of them. Older calls take
 * one line each. The turn index lists the rest. The text of earlier checkpoints is not used.
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
