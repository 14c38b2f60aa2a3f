import { type Block, callIdOf } from '../block/block.ts'
import { readPlan } from '../block/plan.ts'
import { isResultMetadata, readDigest, readNotice, readToolCall } from '../block/round.ts'
import { isObject, parseJson } from '../json.ts'
import { sourcesPath, turnIndexPath } from '../path/build.ts'
import { rowSids } from '../render/blocks/tool-result.ts'
import { stripHostingHandles } from '../render/hosting-handles.ts'
import { joinLines, oneLine } from '../render/text.ts'
import type { Change, TurnClosed } from './change.ts'

/**
 * All blocks that were appended in one turn, in the order of the journal. A compaction does not shorten the log. Blocks that were inserted
 * into the turn later are not in the log.
 */
export interface TurnLog {
  readonly turn_id: string
  readonly ts: string | null
  readonly blocks: readonly Block[]
  readonly end_ts: string | null
  readonly sources_used: readonly number[]
  readonly blocks_count: number
  readonly tokens: number | null
  /** Set when a fork cut the turn off: the turn was still open at the last entry that the fork copied. */
  readonly exit_reason?: typeof FORKED
}

/** The exit reason of a turn that a fork has cut off. */
export const FORKED = 'forked'

/**
 * The exit reason of a turn that was still open when the conversation was exported. The import closes the turn, but its log has no end
 * time.
 */
export const IMPORTED_OPEN = 'imported_open'

/**
 * Builds the log of a turn from changes in the order of the journal. Changes of other turns are ignored. Undefined when no change belongs
 * to the turn.
 */
export function turnLogOf(turnId: string, changes: Iterable<Change>): TurnLog | undefined {
  const appended: (readonly Block[])[] = []
  let opened: string | undefined
  let closed: TurnClosed | undefined
  for (const change of changes) {
    if (change.type === 'blocks.appended') appended.push(change.blocks.filter((block) => block.turn_id === turnId))
    else if (change.type === 'turn.opened' && change.turn_id === turnId) opened ??= change.ts
    else if (change.type === 'turn.closed' && change.turn_id === turnId) closed = change
  }
  const blocks = appended.flat()
  if (blocks.length === 0 && opened === undefined && closed === undefined) return undefined
  return {
    turn_id: turnId,
    ts: opened ?? blocks[0]?.ts ?? null,
    blocks,
    end_ts: closed && closed.exit_reason !== IMPORTED_OPEN ? closed.ts : null,
    sources_used: closed?.sources_used ?? [],
    blocks_count: blocks.length,
    tokens: closed?.tokens ?? null,
    ...(closed?.exit_reason === FORKED && { exit_reason: FORKED }),
  }
}

const HINT = 220
const ARTIFACT_HINT = 180

/** The text at `ar:<turn>.react.turn.index`. It lists all paths of a turn. The model uses it to find the exact paths after a compaction. */
export function turnIndexText(log: Pick<TurnLog, 'turn_id' | 'ts' | 'end_ts' | 'blocks' | 'sources_used'>): string {
  const blocks = log.blocks.filter(({ meta, type }) => meta?.preserved_by_compaction !== true && type !== 'conv.range.summary')
  const started = log.ts ?? blocks[0]?.ts
  return joinLines(
    `[TURN INDEX] ${log.turn_id}`,
    `[path: ${turnIndexPath(log.turn_id)}]`,
    `started: ${started ?? 'unknown'}`,
    `ended: ${log.end_ts ?? 'not closed'}`,
    ...section('summaries', blocks.filter(({ type }) => type === 'conv.working.summary').map(pathAndText)),
    ...section('messages', blocks.flatMap(messageLine)),
    ...section('events', blocks.flatMap(eventLine)),
    ...section('tools', toolLines(blocks)),
    ...section('artifacts', artifactLines(blocks)),
    ...section('sources', sourceLines(blocks, log.sources_used)),
  )
}

function section(name: string, entries: readonly string[]): readonly string[] {
  return ['', `## ${name}`, ...(entries.length === 0 ? ['none'] : entries.map((entry) => `- ${entry}`))]
}

const joinFields = (...fields: readonly (string | undefined)[]) => fields.filter((field) => field !== undefined && field !== '').join(' | ')
const pathAndText = (block: Block) => joinFields(block.path, oneLine(block.text ?? '', HINT))

// `speakers` and `eventLabels` are maps and not objects, because the type of an imported block can be any text. For the type `constructor`,
// an object would return an inherited function.
const speakers = new Map([
  ['user.prompt', 'user'],
  ['assistant.completion', 'assistant'],
])
const eventLabels = new Map([
  ['user.followup', 'followup'],
  ['user.steer', 'steer'],
  ['turn.feedback', 'feedback'],
  ['system.message', 'system'],
  ['event.external', 'external'],
  ['react.note', 'note'],
  ['react.current_turn.compaction_checkpoint', 'checkpoint'],
])

function messageLine(block: Block): readonly string[] {
  const speaker = speakers.get(block.type)
  return speaker === undefined ? [] : [`${speaker} | ${pathAndText(block)}`]
}

function eventLine(block: Block): readonly string[] {
  const event = eventLabels.get(block.type)
  if (event !== undefined) return [`${event} | ${pathAndText(block)}`]
  const plan = readPlan(block)
  if (plan) return [joinFields('plan', block.path, oneLine(plan.steps.join('; '), HINT))]
  const notice = readNotice(block)
  return notice ? [joinFields('notice', block.path, notice.code, oneLine(notice.message, HINT))] : []
}

function toolLines(blocks: readonly Block[]): readonly string[] {
  const results = new Map<string, Block[]>()
  for (const block of blocks) {
    const callId = callIdOf(block)
    if (block.type !== 'react.tool.result' || callId === undefined) continue
    results.set(callId, [...(results.get(callId) ?? []), block])
  }
  return blocks.flatMap((block) => {
    const call = readToolCall(block)
    if (!call) return []
    const ofCall = results.get(call.tool_call_id) ?? []
    const answer = ofCall.findLast((result) => result.text !== undefined && !readDigest(result))
    const resultPath = (answer ?? ofCall.at(-1))?.path
    const result = resultPath === undefined ? undefined : `result: ${resultPath}`
    const hint = `hint: ${oneLine(joinFields(callHint(call.params), oneLine(stripHostingHandles(answer?.text ?? ''), HINT)), HINT)}`
    return [joinFields(call.tool_id, statusOf(ofCall), `call: ${block.path ?? call.tool_call_id}`, result, hint)]
  })
}

function callHint(params: { readonly [name: string]: unknown }): string {
  const hints = ['query', 'path', 'paths', 'url', 'urls', 'mode'].flatMap((name) => {
    const value = params[name]
    return value === undefined ? [] : [`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`]
  })
  return hints.join(' ')
}

function statusOf(results: readonly Block[]): string {
  if (results.length === 0) return 'no result'
  const failed = results.some((block) => {
    const payload = parseJson(block.text)
    return isObject(payload) && ((payload.error !== undefined && payload.error !== null) || payload.status === 'error')
  })
  return failed ? 'error' : 'success'
}

function artifactLines(blocks: readonly Block[]): readonly string[] {
  const artifacts = new Map<string, string>()
  for (const block of blocks) {
    const digest = isResultMetadata(block) ? undefined : readDigest(block)
    if (digest) {
      const description = digest.description ?? (typeof digest.summary === 'string' ? digest.summary : '')
      const source = digest.tool_call_id === undefined ? undefined : `source: ${digest.tool_call_id}`
      const line = joinFields(
        digest.artifact_path,
        digest.mime,
        digest.kind,
        digest.visibility,
        source,
        oneLine(description, ARTIFACT_HINT),
      )
      artifacts.set(digest.artifact_path, line)
    } else if (block.path?.startsWith('fi:') && !artifacts.has(block.path)) {
      artifacts.set(block.path, joinFields(block.path, block.mime))
    }
  }
  return [...artifacts.values()]
}

function sourceLines(blocks: readonly Block[], used: readonly number[]): readonly string[] {
  const sids = new Set(used)
  for (const block of blocks) {
    for (const sid of [...(block.meta?.sources_used ?? []), ...(readDigest(block)?.sources_used ?? [])]) sids.add(sid)
    const rows = block.type === 'react.tool.result' && !readDigest(block) ? parseJson(block.text) : undefined
    if (rows !== undefined) for (const sid of rowSids(rows) ?? []) sids.add(sid)
  }
  return sids.size === 0 ? [] : [sourcesPath(sids)]
}
