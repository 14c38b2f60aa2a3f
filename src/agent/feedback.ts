import type { AnnouncedFeedback } from '../core/announce/events.ts'
import { type Reaction, turnFeedback } from '../core/block/index.ts'
import { isObject } from '../core/json.ts'
import type { Change, InboxEvent } from '../core/timeline/change.ts'
import { enter } from '../core/timeline/enter.ts'
import { blocksOfTurn, type Timeline } from '../core/timeline/timeline.ts'
import type { Ledger } from './ledger.ts'
import type { AgentSettings } from './settings.ts'

/** A machine's opinion counts from here on. */
const SURE = 0.7

const reactions: ReadonlySet<unknown> = new Set<Reaction>(['ok', 'not_ok', 'neutral'])

/**
 * What people thought of earlier turns, looked at once, when a turn begins. While the provider's cache is warm it is only announced:
 * putting it where it belongs would change the cached prefix. Once the cache is cold it is put there.
 */
export async function readFeedback(ledger: Ledger, now: string, settings: AgentSettings): Promise<readonly AnnouncedFeedback[]> {
  const { timeline } = ledger
  const events = timeline.inbox.filter(({ kind }) => kind === 'feedback')
  if (events.length === 0) return []
  const heard = events.map((event) => ({ event, feedback: feedbackOf(event, timeline) }))
  const counted = heard.flatMap(({ feedback }) => (feedback ? [feedback] : []))
  if (isHot(timeline, now, settings)) return counted
  await ledger.commit((value) => incorporate(value, counted, events, now))
  return counted.map((feedback) => ({ ...feedback, incorporated: true }))
}

export function isHot({ cache }: Timeline, now: string, { expiry }: AgentSettings): boolean {
  if (!cache || expiry.ttlSeconds === null || expiry.ttlSeconds <= 0) return false
  const ttl = cache.ttl_seconds ?? expiry.ttlSeconds
  return Date.parse(now) - Date.parse(cache.touched_at) < (ttl - expiry.bufferSeconds) * 1000
}

/** Undefined when the turn is no longer there, or when a machine is not sure. */
function feedbackOf(event: InboxEvent, timeline: Timeline): AnnouncedFeedback | undefined {
  const said = isObject(event.payload) ? event.payload : {}
  const turnId = event.target_turn_id ?? ''
  const [first] = blocksOfTurn(timeline, turnId)
  const origin = said.origin === 'machine' ? 'machine' : 'user'
  const unsure = origin === 'machine' && !(typeof said.confidence === 'number' && said.confidence >= SURE)
  if (!first || unsure) return undefined
  const reaction = reactions.has(said.reaction) ? (said.reaction as Reaction) : undefined
  return { turnId, turnTs: first.ts, ts: event.ts, origin, text: event.text, ...(reaction && { reaction }) }
}

function incorporate(
  timeline: Timeline,
  feedbacks: readonly AnnouncedFeedback[],
  events: readonly InboxEvent[],
  now: string,
): readonly Change[] {
  const latest = new Map(feedbacks.map((feedback) => [feedback.turnId, feedback])) // one per turn: the last word counts
  const drafts = [...latest.values()].map(({ turnId, ts, text, origin, reaction }) =>
    turnFeedback(turnId, ts, { text, origin, ...(reaction && { reaction }) }),
  )
  const blocks = enter(timeline, drafts)
  return [
    ...blocks.flatMap((block): readonly Change[] => {
      const last = blocksOfTurn(timeline, block.turn_id).at(-1)
      return last ? [{ type: 'blocks.inserted', after_id: last.id, blocks: [block] }] : []
    }),
    { type: 'event.folded', ts: now, event_ids: events.map(({ event_id }) => event_id), turn_id: null },
    ...(feedbacks.length > 0 ? [{ type: 'feedback.seen' as const, ts: now, until: newest(feedbacks) }] : []),
  ]
}

const newest = (feedbacks: readonly AnnouncedFeedback[]) => feedbacks.map(({ ts }) => ts).reduce((a, b) => (a > b ? a : b))
