import { type Block, dropEmptyMeta, isHidden } from '../block/block.ts'
import { applyMerge, markUsed, removeSource } from '../sources/pool.ts'
import { createBuffer, editBuffer, extendBuffer } from './block-buffer.ts'
import { type BlocksHidden, type Change, changeTime, type FrozenTexts, type ResponseReceived } from './change.ts'
import { stripHidden } from './frame.ts'
import type { InboxEvent } from './inbox-event.ts'
import { timelineFromPayload } from './payload.ts'
import { blocksOf, isKnownEvent, MAXIMUM_KNOWN_EVENTS, nextBlockNumber, positionOf, type Timeline } from './timeline.ts'
import { afterWait } from './waits.ts'

/**
 * Returns the timeline after a change. It never throws. A change to a block that is not in the timeline any more, for example because it
 * was compacted, has no effect.
 */
export function applyChange(timeline: Timeline, change: Change): Timeline {
  const changed = transition(timeline, change)
  const ts = changeTime(change)
  if (ts === undefined) return changed
  const stamped: NewTimeline = changed === timeline ? { ...timeline } : changed
  stamped.lastTs = ts
  stamped.startedAt ??= ts
  return stamped
}

/** A timeline that `applyChange` has just made. It is not shared yet, so it may be modified, which saves a copy. */
type NewTimeline = { -readonly [Field in keyof Timeline]: Timeline[Field] }

function transition(timeline: Timeline, change: Change): Timeline {
  switch (change.type) {
    case 'blocks.appended':
      return appendBlocks(timeline, change.blocks)
    case 'blocks.inserted':
      return insertAfter(timeline, change.after_id, change.blocks.map(dropEmptyMeta))
    case 'range.compacted':
      return withFrozen(compact(timeline, change.after_id, change.blocks.map(dropEmptyMeta)), change.frozen ?? timeline.frozen)
    case 'blocks.hidden':
      return editBlocks(timeline, change.ids, hideBlock(change, firstInOrder(timeline, change.ids)))
    case 'blocks.revealed':
      return editBlocks(timeline, change.ids, revealBlock)
    case 'turn.opened': {
      const { turn_id, ts, options, frozen } = change
      return withFrozen({ ...timeline, openTurn: options ? { turn_id, ts, options } : { turn_id, ts } }, frozen)
    }
    case 'turn.closed':
      return timeline.openTurn?.turn_id === change.turn_id ? { ...timeline, openTurn: undefined } : timeline
    case 'turn.waiting':
    case 'turn.resumed':
      return timeline.openTurn?.turn_id === change.turn_id ? { ...timeline, openTurn: afterWait(timeline.openTurn, change) } : timeline
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
    case 'call.repeated':
    case 'call.finished':
      return timeline
    case 'feedback.seen':
      return { ...timeline, feedbackSeen: change.until }
    case 'timeline.imported':
      return timelineFromPayload(timeline, change.timeline, change.next_block)
    default:
      return change satisfies never
  }
}

/** Sets the frozen texts of the timeline. If `frozen` is undefined, the frozen texts of the previous turn are removed. */
const withFrozen = (timeline: Timeline, frozen: FrozenTexts | undefined): Timeline =>
  timeline.frozen === frozen ? timeline : { ...timeline, frozen }

/** Appends blocks. The time that this takes depends only on the number of new blocks, not on the length of the timeline. */
function appendBlocks(timeline: Timeline, blocks: readonly Block[]): Timeline {
  if (blocks.length === 0) return timeline
  const buffer = extendBuffer(timeline.buffer, timeline.size, blocks)
  return { ...timeline, buffer, size: timeline.size + blocks.length, nextBlock: nextBlockNumber(blocks, timeline.nextBlock) }
}

function insertAfter(timeline: Timeline, afterId: string, blocks: readonly Block[]): Timeline {
  const nextBlock = nextBlockNumber(blocks, timeline.nextBlock)
  const position = positionOf(timeline, afterId)
  if (position === undefined) return { ...timeline, nextBlock } // the block `afterId` was compacted
  const present = blocksOf(timeline)
  return { ...replaceBlocks(timeline, [...present.slice(0, position + 1), ...blocks, ...present.slice(position + 1)]), nextBlock }
}

function compact(timeline: Timeline, afterId: string, blocks: readonly Block[]): Timeline {
  const nextBlock = nextBlockNumber(blocks, timeline.nextBlock)
  const position = positionOf(timeline, afterId)
  const remaining = position === undefined ? blocksOf(timeline) : blocksOf(timeline, position + 1)
  return { ...replaceBlocks(timeline, [...blocks, ...remaining]), nextBlock }
}

function editBlocks(timeline: Timeline, ids: readonly string[], edit: (block: Block) => Block): Timeline {
  const positions = ids.flatMap((id) => positionOf(timeline, id) ?? [])
  if (positions.length === 0) return timeline
  return { ...timeline, buffer: editBuffer(timeline.buffer, timeline.size, positions, edit) }
}

function replaceBlocks(timeline: Timeline, blocks: readonly Block[]): Timeline {
  return { ...timeline, buffer: createBuffer(blocks), size: blocks.length }
}

function firstInOrder(timeline: Timeline, ids: readonly string[]): string | undefined {
  const visible = ids.flatMap((id) => {
    const position = positionOf(timeline, id)
    return position === undefined ? [] : [{ id, position }]
  })
  return visible.sort((a, b) => a.position - b.position)[0]?.id
}

/** Returns a function that hides a block. Only the block `firstId` gets the replacement text. */
function hideBlock(change: BlocksHidden, firstId: string | undefined): (block: Block) => Block {
  return (block) => ({
    ...block,
    meta: {
      ...revealBlock(block).meta,
      hidden: true,
      hidden_reason: change.reason,
      ...(change.scope && { hidden_scope: change.scope }),
      ...(block.id === firstId && { replacement_text: change.replacement_text }),
    },
  })
}

const revealBlock = (block: Block): Block => (isHidden(block) ? stripHidden(block) : block)

/** Keeps the newest response with a decision. Responses with a title or a summary do not change the timeline. */
function recordResponse(timeline: Timeline, response: ResponseReceived): Timeline {
  if (response.role !== undefined) return timeline
  const lastResponse = { ...response, raw: undefined } // leaving out the field with `...rest` would take 0.4 µs more in every round
  return { ...timeline, lastResponse, cache: { touched_at: response.ts, ttl_seconds: response.prompt?.cache_ttl_seconds ?? null } }
}

/** Adds an event to the inbox. The second delivery of an event is ignored, even if a turn has already read the event. */
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
