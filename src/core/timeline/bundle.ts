import { type Block, blobRefsOf, blockNumber } from '../block/block.ts'
import { completeBlock, type IncompleteBlock, isoTime, parseBlock } from '../block/parse.ts'
import { Failure } from '../failure.ts'
import { isObject } from '../json.ts'
import { applyMerge, emptyPool, mergeSources, type SourcePool } from '../sources/pool.ts'
import { cleanPoolRow, type IncomingSource, isSid, parseSourceRow, type SourceRow } from '../sources/source.ts'
import type { Change } from './change.ts'
import { parsePayload, type TimelinePayload } from './payload.ts'
import { nextBlockNumber } from './timeline.ts'
import { FORKED, IMPORTED_OPEN, type TurnLog, turnLogOf } from './turn-log.ts'
import { turnIdsOf } from './turns.ts'

/** A whole conversation in one JSON file. */
export interface Bundle {
  readonly format: 'daybook.bundle'
  readonly version: 1
  readonly conversation_id: string
  readonly timeline: TimelinePayload
  readonly sources_pool: { readonly sources_pool: readonly SourceRow[]; readonly next_sid: number }
  readonly turn_logs: readonly TurnLog[]
  /** Blocks that are neither visible nor in a turn log: older summaries, and feedback on compacted turns. */
  readonly archive: readonly Block[]
  /** The bytes of all blobs in base64, by their SHA-256. */
  readonly blobs: { readonly [sha256: string]: string }
}

/** Applies `change` to every block of a bundle: in the timeline, in the turn logs and in `archive`. Returns the new bundle. */
export function mapBlocks(bundle: Bundle, change: (block: Block) => Block): Bundle {
  return {
    ...bundle,
    timeline: { ...bundle.timeline, blocks: bundle.timeline.blocks.map(change) },
    turn_logs: bundle.turn_logs.map((log) => ({ ...log, blocks: log.blocks.map(change) })),
    archive: bundle.archive.map(change),
  }
}

/** The changes that import a bundle. The last change sets the visible state. The changes before it add the turns and the sources. */
export function importChanges(bundle: Bundle): readonly Change[] {
  const { timeline, sources_pool: pool } = bundle
  const history = [...bundle.turn_logs.flatMap(({ blocks }) => blocks), ...bundle.archive, ...timeline.blocks]
  const ts = timeline.ts ?? timeline.last_activity_at ?? timeline.conversation_started_at ?? new Date(0).toISOString()
  return [
    ...bundle.turn_logs.flatMap((log) => turnChanges(log, ts)),
    ...(bundle.archive.length > 0 ? [{ type: 'blocks.inserted' as const, after_id: '', blocks: bundle.archive }] : []),
    { type: 'sources.merged', ts, rows: pool.sources_pool, next_sid: pool.next_sid },
    { type: 'timeline.imported', timeline, next_block: nextBlockNumber(history, 1) },
  ]
}

function turnChanges(log: TurnLog, ts: string): readonly Change[] {
  return [
    // If the log has no start time, the bundle lacks the beginning of the turn, so there is no `turn.opened`.
    ...(log.ts === null ? [] : [{ type: 'turn.opened' as const, turn_id: log.turn_id, ts: log.ts }]),
    ...(log.blocks.length > 0 ? [{ type: 'blocks.appended' as const, blocks: log.blocks }] : []),
    {
      type: 'turn.closed',
      turn_id: log.turn_id,
      ts: log.end_ts ?? log.ts ?? ts,
      exit_reason: log.end_ts === null ? IMPORTED_OPEN : (log.exit_reason ?? 'imported'),
      sources_used: log.sources_used,
      ...(log.tokens !== null && { tokens: log.tokens }),
    },
  ]
}

/** Parses a bundle or a single `conv.timeline.v1` payload. Throws `bundle.invalid` with the reason for any other value. */
export function parseBundle(value: unknown): Bundle {
  if (!isObject(value)) throw invalid('a bundle must be a JSON object')
  if (value.format === undefined && value.version === 1 && Array.isArray(value.blocks)) return bundleFromTimeline(value)
  if (value.format !== 'daybook.bundle') throw invalid('the JSON is neither a Daybook bundle nor a conv.timeline.v1 payload')
  if (value.version !== 1) throw invalid(`bundle version ${JSON.stringify(value.version)} is not supported; this Daybook reads version 1`)
  if (typeof value.conversation_id !== 'string' || value.conversation_id === '') throw invalid('bundle.conversation_id must be text')
  if (!Array.isArray(value.turn_logs)) throw invalid('bundle.turn_logs must be a list')
  if (!Array.isArray(value.archive)) throw invalid('bundle.archive must be a list')
  if (!isObject(value.blobs) || Object.values(value.blobs).some((bytes) => typeof bytes !== 'string')) {
    throw invalid('bundle.blobs must map hashes to base64 text')
  }
  const bundle: Bundle = {
    format: 'daybook.bundle',
    version: 1,
    conversation_id: value.conversation_id,
    timeline: parsePayload(value.timeline),
    sources_pool: parsePool(value.sources_pool),
    turn_logs: value.turn_logs.map(parseTurnLog),
    archive: value.archive.map(parseBlock),
    blobs: value.blobs as Bundle['blobs'],
  }
  checkBlockIds(bundle)
  return bundle
}

/**
 * A copy of the bundle that ends with the turn `atTurn`, by default the last finished turn. It can be imported as a new conversation. It
 * contains all sources, so that a SID refers to the same source in both conversations.
 */
export function forkBundle(bundle: Bundle, atTurn?: string): Bundle {
  const finished = bundle.turn_logs.filter(({ end_ts }) => end_ts !== null).map(({ turn_id }) => turn_id)
  const at = atTurn ?? finished.at(-1)
  const end = at === undefined ? -1 : finished.indexOf(at)
  if (at === undefined || end < 0) throw noSuchTurn(bundle.conversation_id, atTurn, finished.at(-1))
  const copied = new Set(finished.slice(0, end + 1))
  const { timeline } = bundle
  const last = timeline.blocks.findLastIndex(({ turn_id }) => copied.has(turn_id))
  if (!timeline.blocks.some(({ turn_id, type }) => turn_id === at && type !== 'conv.range.summary')) {
    throw new Failure('change.invalid', `${bundle.conversation_id}: turn ${at} is already part of a summary; fork at a later turn`)
  }
  const blocks = timeline.blocks.slice(0, last + 1)
  const turn_logs = bundle.turn_logs.filter(({ turn_id }) => copied.has(turn_id))
  const needed = new Set(
    [...blocks, ...turn_logs.flatMap((log) => log.blocks), ...bundle.archive].flatMap(blobRefsOf).map(({ sha256 }) => sha256),
  )
  return {
    ...bundle,
    timeline: {
      ...timeline,
      blocks,
      turn_ids: turnIdsOf(blocks),
      ts: blocks.at(-1)?.ts ?? timeline.ts,
      last_activity_at: blocks.at(-1)?.ts ?? timeline.last_activity_at,
      forked_from: { conversation_id: bundle.conversation_id, turn_id: at },
    },
    turn_logs,
    blobs: Object.fromEntries(Object.entries(bundle.blobs).filter(([sha256]) => needed.has(sha256))),
  }
}

function noSuchTurn(conversationId: string, wanted: string | undefined, latest: string | undefined): Failure {
  const problem =
    wanted === undefined || latest === undefined
      ? 'there is no finished turn to fork from yet'
      : `turn ${wanted} does not exist or is not finished; the latest finished turn is ${latest}`
  return new Failure('change.invalid', `${conversationId}: ${problem}`)
}

/**
 * The highest number that a source or block of a bundle may have. The conversation continues with higher numbers after the import, so this
 * limit is far below the largest exact integer of JavaScript.
 */
const MAXIMUM_NUMBER = 1e12

function parsePool(value: unknown): Bundle['sources_pool'] {
  if (!isObject(value) || !Array.isArray(value.sources_pool) || typeof value.next_sid !== 'number') {
    throw invalid('bundle.sources_pool must hold sources_pool and next_sid')
  }
  const rows = value.sources_pool as readonly unknown[]
  const sids = rows.map((row) => (isObject(row) && isSid(row.sid) ? row.sid : undefined))
  if (sids.includes(undefined)) throw invalid('every row of the sources pool needs a positive sid')
  if (new Set(sids).size !== sids.length) throw invalid('the sources pool names a sid twice')
  const highest = sids.reduce<number>((most, sid) => Math.max(most, sid ?? 0), 0)
  if (value.next_sid > MAXIMUM_NUMBER) throw invalid(`next_sid must be at most ${MAXIMUM_NUMBER}`)
  if (!Number.isSafeInteger(value.next_sid) || value.next_sid <= highest) throw invalid(`next_sid must be greater than ${highest}`)
  return { sources_pool: (rows as readonly SourceRow[]).map(cleanPoolRow), next_sid: value.next_sid } // each row has a SID
}

function parseTurnLog(value: unknown): TurnLog {
  if (!isObject(value) || typeof value.turn_id !== 'string' || !Array.isArray(value.blocks)) {
    throw invalid('a turn log needs turn_id and blocks')
  }
  const blocks = value.blocks.map(parseBlock)
  if (blocks.some(({ turn_id }) => turn_id !== value.turn_id)) throw invalid(`the log of ${value.turn_id} holds a block of another turn`)
  const { ts = null, end_ts = null, sources_used: sids = [], tokens = null } = value
  if (!isTextOrNull(ts) || !isTextOrNull(end_ts)) throw invalid(`the log of ${value.turn_id}: ts and end_ts must be text or null`)
  if (!Array.isArray(sids) || !sids.every(Number.isSafeInteger))
    throw invalid(`the log of ${value.turn_id}: sources_used must be a list of integers`)
  if (tokens !== null && typeof tokens !== 'number') throw invalid(`the log of ${value.turn_id}: tokens must be a number or null`)
  const { exit_reason: reason } = value
  if (reason !== undefined && reason !== FORKED) throw invalid(`the log of ${value.turn_id}: exit_reason can only be "${FORKED}"`)
  const log = { turn_id: value.turn_id, ts, blocks, end_ts, sources_used: sids as number[], blocks_count: blocks.length, tokens }
  return reason === undefined ? log : { ...log, exit_reason: FORKED }
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string'

function checkBlockIds({ turn_logs, archive, timeline }: Bundle): void {
  const history = [...turn_logs.flatMap(({ blocks }) => blocks), ...archive]
  for (const [where, blocks] of [
    ['the history', history],
    ['the timeline', timeline.blocks],
  ] as const) {
    const seen = new Set<string>()
    for (const { id } of blocks) {
      if (seen.has(id)) throw invalid(`${where} holds block ${id} twice`)
      if ((blockNumber(id) ?? 0) > MAXIMUM_NUMBER)
        throw invalid(`the number of block ${id} is too high: it must be at most ${MAXIMUM_NUMBER}`)
      seen.add(id)
    }
  }
}

/**
 * Makes a bundle from a single timeline payload. The payload has no block ids, turn logs and `next_sid`, so this function makes them from
 * its blocks and sources. The visible timeline starts at the newest summary. Earlier blocks are only in the turn logs and in `archive`.
 */
function bundleFromTimeline(payload: { readonly [key: string]: unknown }): Bundle {
  const value: { readonly [key: string]: unknown; readonly ts?: string } = { ...payload, ...timesInUtc(payload) }
  const now = value.ts ?? new Date(0).toISOString()
  const numbered = (value.blocks as readonly unknown[]).map((block, index) => {
    if (!isObject(block) || typeof block.type !== 'string') throw invalid('every block of a timeline needs a type')
    return completeBlock(block as unknown as IncompleteBlock, { number: index + 1, turnId: 'turn_imported', now })
  })
  const { blocks } = parsePayload({ ...value, blocks: numbered })
  const isSummary = ({ type }: Block) => type === 'conv.range.summary'
  const latest = Math.max(0, blocks.findLastIndex(isSummary))
  const timeline = parsePayload({ ...value, ts: value.ts ?? blocks.at(-1)?.ts, blocks: blocks.slice(latest) })
  const pool = poolFromSnapshot(timeline.sources_pool)
  const conversationId = typeof value.conversation_id === 'string' ? value.conversation_id : 'imported'
  return {
    format: 'daybook.bundle',
    version: 1,
    conversation_id: conversationId,
    timeline,
    sources_pool: parsePool({ sources_pool: pool.rows, next_sid: pool.next_sid }),
    turn_logs: [...changesByTurn(blocks.filter((block) => !isSummary(block)))].flatMap(([turnId, own]) => turnLogOf(turnId, own) ?? []),
    archive: blocks.slice(0, latest).filter(isSummary),
    blobs: {},
  }
}

/** For each turn, a change that appends its blocks. The turns are in the order of their first blocks. */
function changesByTurn(blocks: readonly Block[]): ReadonlyMap<string, readonly Change[]> {
  const turns = new Map<string, Block[]>()
  for (const block of blocks) {
    const own = turns.get(block.turn_id)
    if (own) own.push(block)
    else turns.set(block.turn_id, [block])
  }
  return new Map([...turns].map(([turnId, own]) => [turnId, [{ type: 'blocks.appended', blocks: own }]]))
}

/**
 * The times of a payload as ISO texts in UTC. A field without a valid time is not in the result. It keeps its value in the payload, and
 * `parsePayload` rejects the payload if the value has the wrong type.
 */
function timesInUtc(value: { readonly [key: string]: unknown }): { readonly ts?: string } {
  const times = ['ts', 'conversation_started_at', 'last_activity_at'].flatMap((key) => {
    const field = value[key]
    const time = typeof field === 'string' || typeof field === 'number' ? isoTime(field) : undefined
    return time === undefined ? [] : [[key, time]]
  })
  return Object.fromEntries(times) as { readonly ts?: string } // `isoTime` returns strings
}

/**
 * Makes a pool from the rows of a payload. A row keeps its SID, because citations contain it. A row without a SID, or with the SID of an
 * earlier row, gets a new SID.
 */
function poolFromSnapshot(snapshot: readonly unknown[]): SourcePool {
  const numbered = new Map<number, SourceRow>()
  const others: IncomingSource[] = []
  for (const row of snapshot.flatMap((value) => parseSourceRow(value) ?? [])) {
    if (row.sid === undefined || numbered.has(row.sid)) others.push(row)
    else numbered.set(row.sid, { ...row, sid: row.sid })
  }
  return mergeSources(applyMerge(emptyPool, { rows: [...numbered.values()], next_sid: 1 }), others).pool
}

const invalid = (message: string) => new Failure('bundle.invalid', message)
