import type { AnnouncedFeedback } from '../../core/announce/announce.ts'
import { type Block, feedbackBlock, type Reaction } from '../../core/block/index.ts'
import { isObject } from '../../core/json.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import { assignIds, blocksOfTurn, type Timeline } from '../../core/timeline/timeline.ts'
import type { Ledger } from '../conversation/ledger.ts'
import type { AgentSettings } from '../settings.ts'

/** Feedback of a machine with a lower confidence than this is ignored. */
const MIN_MACHINE_CONFIDENCE = 0.7

const reactions: ReadonlySet<unknown> = new Set<Reaction>(['ok', 'not_ok', 'neutral'])

/**
 * Collects the feedback on earlier turns when a turn begins. While the provider still has the prompt in its cache, the feedback is only put
 * into the announce, because an inserted block would invalidate the cache. After the cache has expired, the feedback is inserted as a block
 * into the turn that it is about.
 */
export async function collectFeedback(ledger: Ledger, now: string, settings: AgentSettings): Promise<readonly AnnouncedFeedback[]> {
  const { timeline } = ledger
  const open = timeline.openTurn?.turn_id // feedback on a turn that is being resumed waits until this turn has ended
  const events = timeline.inbox.filter((event) => event.kind === 'feedback' && event.target_turn_id !== open)
  if (events.length === 0) return []
  const feedbacks = latestOfEachTurn(events.flatMap((event) => parseFeedback(event, timeline) ?? []))
  if (isCacheWarm(timeline, now, settings)) return feedbacks
  await ledger.commit((current) => incorporate(current, feedbacks, events, now))
  return feedbacks.map((feedback) => ({ ...feedback, incorporated: true }))
}

/** The latest feedback on each turn. `feedbacks` must be in the order in which they were given. */
const latestOfEachTurn = (feedbacks: readonly AnnouncedFeedback[]): readonly AnnouncedFeedback[] =>
  feedbacks.filter(({ turnId }, index) => index === feedbacks.findLastIndex((other) => other.turnId === turnId))

function isCacheWarm({ cache }: Timeline, now: string, { expiry }: AgentSettings): boolean {
  if (!cache || expiry.ttlSeconds === null || expiry.ttlSeconds <= 0) return false
  const ttl = cache.ttl_seconds ?? expiry.ttlSeconds
  return Date.parse(now) - Date.parse(cache.touched_at) < (ttl - expiry.bufferSeconds) * 1000
}

/**
 * Reads feedback from an event. Undefined when the blocks of its turn were compacted, or when a machine gave it with too low confidence.
 */
function parseFeedback(event: InboxEvent, timeline: Timeline): AnnouncedFeedback | undefined {
  const payload = isObject(event.payload) ? event.payload : {}
  const turnId = event.target_turn_id ?? ''
  const first = blocksOfTurn(timeline, turnId).find(isOriginal)
  const origin = payload.origin === 'machine' ? 'machine' : 'user'
  const unsure = origin === 'machine' && !(typeof payload.confidence === 'number' && payload.confidence >= MIN_MACHINE_CONFIDENCE)
  if (!first || unsure) return undefined
  const reaction = reactions.has(payload.reaction) ? (payload.reaction as Reaction) : undefined
  return { turnId, turnTs: first.ts, ts: event.ts, origin, text: event.text, ...(reaction && { reaction }) }
}

/** False for a block that a compaction has put in place of the turn's blocks. */
const isOriginal = ({ type, meta }: Block) => type !== 'conv.range.summary' && meta?.preserved_by_compaction !== true

/** Inserts each feedback after the last block of its turn. Hides older feedback on the same turn. */
function incorporate(
  timeline: Timeline,
  feedbacks: readonly AnnouncedFeedback[],
  events: readonly InboxEvent[],
  now: string,
): readonly Change[] {
  const drafts = feedbacks.map(({ turnId, ts, text, origin, reaction }) =>
    feedbackBlock(turnId, ts, { text, origin, ...(reaction && { reaction }) }),
  )
  const byTurn = Map.groupBy(assignIds(timeline, drafts), ({ turn_id }) => turn_id)
  return [
    ...[...byTurn].flatMap(([turnId, blocks]): readonly Change[] => {
      const present = blocksOfTurn(timeline, turnId)
      const last = present.at(-1)
      const replaced = present.filter(({ type }) => type === 'turn.feedback').map(({ id }) => id)
      return [
        ...(replaced.length > 0 ? [{ type: 'blocks.hidden' as const, ids: replaced, replacement_text: '', reason: 'hide' as const }] : []),
        ...(last ? [{ type: 'blocks.inserted' as const, after_id: last.id, blocks }] : []),
      ]
    }),
    { type: 'event.folded', ts: now, event_ids: events.map(({ event_id }) => event_id), turn_id: null },
    ...(feedbacks.length > 0 ? [{ type: 'feedback.seen' as const, ts: now, until: newest(feedbacks) }] : []),
  ]
}

const newest = (feedbacks: readonly AnnouncedFeedback[]) => feedbacks.map(({ ts }) => ts).reduce((a, b) => (a > b ? a : b))
