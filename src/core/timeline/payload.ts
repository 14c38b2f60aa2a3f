import { type Block, dropEmptyMeta } from '../block/block.ts'
import { parseBlock } from '../block/parse.ts'
import { Failure } from '../failure.ts'
import { isObject } from '../json.ts'
import { compactSnapshot } from '../sources/pool.ts'
import type { SourceRow } from '../sources/source.ts'
import { createBuffer } from './block-buffer.ts'
import { blockAt, blocksOf, emptyTimeline, nextBlockNumber, type Timeline } from './timeline.ts'
import { turnIdsOf } from './turns.ts'

/** The visible state of a conversation in the exchange format `conv.timeline.v1`. It is computed for an export and is not stored. */
export interface TimelinePayload {
  readonly version: 1
  readonly ts: string | null
  readonly blocks: readonly Block[]
  readonly turn_ids: readonly string[]
  readonly sources_pool: readonly Partial<SourceRow>[]
  readonly conversation_title: string | null
  readonly conversation_started_at: string | null
  readonly last_activity_at: string | null
  /** When the provider's cache was last used, in seconds since 1970. */
  readonly cache_last_touch_at: number | null
  readonly cache_last_ttl_seconds: number | null
  readonly last_known_feedback_ts: string | null
  readonly last_external_event_id: string | null
  readonly last_external_event_seq: number | null
  readonly forked_from: { readonly conversation_id: string; readonly turn_id: string } | null
}

/** Computes the payload of a timeline for an export. */
export function toPayload(timeline: Timeline): TimelinePayload {
  return {
    version: 1,
    ts: timeline.lastTs ?? null,
    blocks: blocksOf(timeline),
    turn_ids: turnIdsOf(blocksOf(timeline)),
    sources_pool: compactSnapshot(timeline.sources),
    conversation_title: timeline.title ?? null,
    conversation_started_at: timeline.startedAt ?? null,
    last_activity_at: blockAt(timeline, timeline.size - 1)?.ts ?? null,
    cache_last_touch_at: timeline.cache ? Date.parse(timeline.cache.touched_at) / 1000 : null,
    cache_last_ttl_seconds: timeline.cache?.ttl_seconds ?? null,
    last_known_feedback_ts: timeline.feedbackSeen ?? null,
    last_external_event_id: timeline.lastEvent?.event_id ?? null,
    last_external_event_seq: timeline.lastEvent?.sequence ?? null,
    forked_from: timeline.forkedFrom ?? null,
  }
}

/**
 * The timeline of an imported payload. No turn is open, and the inbox is empty. The sources of `timeline` are kept, because another change
 * of the import has already added them.
 */
export function timelineFromPayload(timeline: Timeline, payload: TimelinePayload, nextBlock: number): Timeline {
  const touchedAt = payload.cache_last_touch_at
  const lastEventId = payload.last_external_event_id
  return {
    ...emptyTimeline(),
    buffer: createBuffer(payload.blocks.map(dropEmptyMeta)),
    size: payload.blocks.length,
    nextBlock: nextBlockNumber(payload.blocks, Math.max(nextBlock, timeline.nextBlock)),
    sources: timeline.sources,
    title: payload.conversation_title ?? undefined,
    startedAt: payload.conversation_started_at ?? undefined,
    lastTs: payload.ts ?? undefined,
    cache:
      touchedAt === null
        ? undefined
        : { touched_at: new Date(Math.round(touchedAt * 1000)).toISOString(), ttl_seconds: payload.cache_last_ttl_seconds },
    feedbackSeen: payload.last_known_feedback_ts ?? undefined,
    lastEvent: lastEventId === null ? undefined : { event_id: lastEventId, sequence: payload.last_external_event_seq ?? 0 },
    forkedFrom: payload.forked_from ?? undefined,
  }
}

/** Parses an imported payload. Throws an error that names the wrong field. */
export function parsePayload(value: unknown): TimelinePayload {
  if (!isObject(value)) throw invalid('a timeline must be an object')
  if (value.version !== 1) throw invalid(`timeline.version must be 1, not ${JSON.stringify(value.version)}`)
  if (!Array.isArray(value.blocks)) throw invalid('timeline.blocks must be a list')
  if (value.sources_pool !== undefined && !Array.isArray(value.sources_pool)) throw invalid('timeline.sources_pool must be a list')
  for (const key of textFields) if (!isOptional(value[key], 'string')) throw invalid(`timeline.${key} must be text or null`)
  for (const key of numberFields) if (!isOptional(value[key], 'number')) throw invalid(`timeline.${key} must be a number or null`)
  if (!isTime(value.cache_last_touch_at)) throw invalid('timeline.cache_last_touch_at must be a time in epoch seconds or null')
  if (!(value.sources_pool ?? []).every(isObject)) throw invalid('every row of timeline.sources_pool must be an object')
  if (!isAbsent(value.forked_from) && !isFork(value.forked_from)) throw invalid('timeline.forked_from must name a conversation and a turn')
  return buildPayload(value, value.blocks.map(parseBlock))
}

/** Parses a payload of unknown origin. Never throws: an invalid field is treated as missing, and an invalid block is left out. */
export function parsePayloadLeniently(value: unknown): TimelinePayload {
  const fields = isObject(value) ? value : {}
  const blocks = Array.isArray(fields.blocks) ? fields.blocks.flatMap(parseBlockOrSkip) : []
  const clean = Object.fromEntries(
    [...textFields.map((key) => [key, 'string'] as const), ...numberFields.map((key) => [key, 'number'] as const)].map(([key, type]) => [
      key,
      isOptional(fields[key], type) ? fields[key] : null,
    ]),
  )
  const touched = isTime(fields.cache_last_touch_at) ? {} : { cache_last_touch_at: null }
  return buildPayload({ ...fields, ...clean, ...touched }, blocks)
}

const textFields = [
  'ts',
  'conversation_title',
  'conversation_started_at',
  'last_activity_at',
  'last_known_feedback_ts',
  'last_external_event_id',
] as const
/** The highest number of seconds before or after 1970 that a JavaScript date can represent. */
const MAXIMUM_SECONDS = 8.64e12
const numberFields = ['cache_last_touch_at', 'cache_last_ttl_seconds', 'last_external_event_seq'] as const

function buildPayload(fields: Readonly<Record<string, unknown>>, blocks: readonly Block[]): TimelinePayload {
  const text = (key: (typeof textFields)[number]) => (fields[key] as string | null | undefined) ?? null
  const number = (key: (typeof numberFields)[number]) => (fields[key] as number | null | undefined) ?? null
  const forked = fields.forked_from
  return {
    version: 1,
    ts: text('ts'),
    blocks,
    turn_ids: turnIdsOf(blocks),
    sources_pool: Array.isArray(fields.sources_pool) ? fields.sources_pool.filter(isObject) : [],
    conversation_title: text('conversation_title'),
    conversation_started_at: text('conversation_started_at'),
    last_activity_at: text('last_activity_at'),
    cache_last_touch_at: number('cache_last_touch_at'),
    cache_last_ttl_seconds: number('cache_last_ttl_seconds'),
    last_known_feedback_ts: text('last_known_feedback_ts'),
    last_external_event_id: text('last_external_event_id'),
    last_external_event_seq: number('last_external_event_seq'),
    forked_from: isFork(forked) ? { conversation_id: forked.conversation_id, turn_id: forked.turn_id } : null,
  }
}

function parseBlockOrSkip(value: unknown): readonly Block[] {
  try {
    return [parseBlock(value)]
  } catch (error) {
    if (error instanceof Failure) return []
    throw error
  }
}

const isTime = (seconds: unknown) => isAbsent(seconds) || Math.abs(Number(seconds)) <= MAXIMUM_SECONDS
const isAbsent = (value: unknown) => value === undefined || value === null

function isFork(value: unknown): value is NonNullable<TimelinePayload['forked_from']> {
  return isObject(value) && typeof value.conversation_id === 'string' && typeof value.turn_id === 'string'
}

function isOptional(value: unknown, type: 'string' | 'number'): boolean {
  return isAbsent(value) || (typeof value === type && (type === 'string' || Number.isFinite(value)))
}

const invalid = (message: string) => new Failure('bundle.invalid', message)
