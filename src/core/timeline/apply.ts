import { type Block, dropEmptyMeta, isHidden } from '../block/block.ts'
import { applyMerge, markUsed, removeSource } from '../sources/pool.ts'
import { type BlocksHidden, type Change, changeTime, type InboxEvent, type ResponseReceived } from './change.ts'
import { stripHidden } from './frame.ts'
import { timelineFromPayload } from './payload.ts'
import {
  blocksOf,
  createBuffer,
  extendBuffer,
  isKnownEvent,
  MAXIMUM_KNOWN_EVENTS,
  nextBlockNumber,
  positionOf,
  type Timeline,
} from './timeline.ts'

/** Pure and total: an id that is not there (compacted away, or never was) is not an error, it is simply not changed. */
export function applyChange(timeline: Timeline, change: Change): Timeline {
  const changed = transition(timeline, change)
  const ts = changeTime(change)
  if (ts === undefined) return changed
  const stamped: MutableTimeline = changed === timeline ? { ...timeline } : changed
  stamped.lastTs = ts
  stamped.startedAt ??= ts
  return stamped
}

/** A value that was just made and that nobody else holds yet. */
type MutableTimeline = { -readonly [Field in keyof Timeline]: Timeline[Field] }

function transition(timeline: Timeline, change: Change): Timeline {
  switch (change.type) {
    case 'blocks.appended':
      return appendBlocks(timeline, change.blocks)
    case 'blocks.inserted':
      return insertAfter(timeline, change.after_id, change.blocks.map(dropEmptyMeta))
    case 'range.compacted':
      return compact(timeline, change.after_id, change.blocks.map(dropEmptyMeta))
    case 'blocks.hidden':
      return editBlocks(timeline, change.ids, hideBlock(change, firstInOrder(timeline, change.ids)))
    case 'blocks.revealed':
      return editBlocks(timeline, change.ids, revealBlock)
    case 'turn.opened':
      return { ...timeline, openTurn: { turn_id: change.turn_id, ts: change.ts } }
    case 'turn.closed':
      return timeline.openTurn?.turn_id === change.turn_id ? omitField(timeline, 'openTurn') : timeline
    case 'response.received':
      return recordResponse(timeline, change)
    case 'sources.merged':
      return { ...timeline, sources: applyMerge(timeline.sources, change) }
    case 'sources.used':
      return { ...timeline, sources: markUsed(timeline.sources, change.sids) }
    case 'source.removed':
      return { ...timeline, sources: removeSource(timeline.sources, change.sid) }
    case 'title.set':
      return { ...timeline, title: change.title }
    case 'event.accepted':
      return acceptEvent(timeline, change.event)
    case 'event.folded':
      return { ...timeline, inbox: timeline.inbox.filter(({ event_id }) => !change.event_ids.includes(event_id)) }
    case 'feedback.seen':
      return { ...timeline, feedbackSeen: change.until }
    case 'timeline.imported':
      return timelineFromPayload(timeline, change.timeline, change.next_block)
    default:
      return change satisfies never
  }
}

/** Costs what is new, not what is there. */
function appendBlocks(timeline: Timeline, blocks: readonly Block[]): Timeline {
  if (blocks.length === 0) return timeline
  const spine = extendBuffer(timeline.buffer, timeline.size, blocks, dropEmptyMeta)
  return { ...timeline, buffer: spine, size: timeline.size + blocks.length, nextBlock: nextBlockNumber(blocks, timeline.nextBlock) }
}

function insertAfter(timeline: Timeline, afterId: string, blocks: readonly Block[]): Timeline {
  const nextBlock = nextBlockNumber(blocks, timeline.nextBlock)
  const position = positionOf(timeline, afterId)
  if (position === undefined) return { ...timeline, nextBlock } // its place was compacted away
  const present = blocksOf(timeline)
  return { ...replaceBlocks(timeline, [...present.slice(0, position + 1), ...blocks, ...present.slice(position + 1)]), nextBlock }
}

function compact(timeline: Timeline, afterId: string, blocks: readonly Block[]): Timeline {
  const nextBlock = nextBlockNumber(blocks, timeline.nextBlock)
  const position = positionOf(timeline, afterId)
  const kept = position === undefined ? blocksOf(timeline) : blocksOf(timeline, position + 1)
  return { ...replaceBlocks(timeline, [...blocks, ...kept]), nextBlock }
}

function editBlocks(timeline: Timeline, ids: readonly string[], edit: (block: Block) => Block): Timeline {
  const positions = ids.flatMap((id) => positionOf(timeline, id) ?? [])
  if (positions.length === 0) return timeline
  const blocks = [...blocksOf(timeline)]
  for (const position of positions) blocks[position] = edit(blocks[position] as Block)
  return replaceBlocks(timeline, blocks)
}

function replaceBlocks(timeline: Timeline, blocks: readonly Block[]): Timeline {
  return { ...timeline, buffer: createBuffer(blocks), size: blocks.length }
}

function firstInOrder(timeline: Timeline, ids: readonly string[]): string | undefined {
  const placed = ids.flatMap((id) => {
    const position = positionOf(timeline, id)
    return position === undefined ? [] : [{ id, position }]
  })
  return placed.sort((a, b) => a.position - b.position)[0]?.id
}

function hideBlock(change: BlocksHidden, bearer: string | undefined): (block: Block) => Block {
  return (block) => ({
    ...block,
    meta: {
      ...revealBlock(block).meta,
      hidden: true,
      hidden_reason: change.reason,
      ...(change.scope && { hidden_scope: change.scope }),
      ...(block.id === bearer && { replacement_text: change.replacement_text }),
    },
  })
}

const revealBlock = (block: Block): Block => (isHidden(block) ? stripHidden(block) : block)

function recordResponse(timeline: Timeline, response: ResponseReceived): Timeline {
  if (response.role !== undefined) return timeline
  const ttl = response.prompt?.cache_ttl_seconds
  return { ...timeline, lastResponse: withoutText(response), cache: { touched_at: response.ts, ttl_seconds: ttl ?? null } }
}

/** Mostly it has these fields and no other: to name them costs a third of leaving one out. */
function withoutText(response: ResponseReceived): Omit<ResponseReceived, 'raw'> {
  const { type, turn_id, ts, iteration, call_id, finish_reason, usage, prompt } = response
  let fields = 0
  for (const _field in response) fields += 1
  if (fields === 9 && usage && prompt) return { type, turn_id, ts, iteration, call_id, finish_reason, usage, prompt }
  const { raw: _raw, ...rest } = response
  return rest
}

/** The same event twice is one event, also when the first has long been folded. */
function acceptEvent(timeline: Timeline, event: InboxEvent): Timeline {
  if (isKnownEvent(timeline, event.event_id)) return timeline
  const { knownEvents = [] } = timeline
  return {
    ...timeline,
    inbox: [...timeline.inbox, event],
    lastEvent: { event_id: event.event_id, sequence: event.sequence },
    knownEvents: [...knownEvents.slice(1 - MAXIMUM_KNOWN_EVENTS), event.event_id],
  }
}

function omitField<K extends keyof Timeline>(timeline: Timeline, key: K): Timeline {
  const { [key]: _dropped, ...rest } = timeline
  return rest as unknown as Timeline // only optional fields are dropped: `openTurn`
}
