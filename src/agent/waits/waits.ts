import type { Wait } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { callsWithoutResult, settlePendingCalls } from '../recovery/pending-calls.ts'
import type { Progress, RoundResult } from '../turn/progress.ts'
import type { Turn } from '../turn/turn.ts'
import { wakes } from './child-waits.ts'
import { callOf, canGoOn, openWaits, replyKey } from './wait-events.ts'

/**
 * Decides how a turn continues after its calls have run. If none of the calls waits, the next round follows. If something has arrived for a
 * call that waits, this call is settled. Otherwise the turn is parked: it stays open in the journal, and needs no process until something
 * arrives.
 */
export async function goOnOrWait(turn: Turn, before: Progress): Promise<RoundResult> {
  const { turnId, agent, conversation } = turn
  const { ledger } = conversation
  let progress = before
  for (;;) {
    const { timeline } = ledger
    const waits = openWaits(timeline)
    if (waits.length === 0 || conversation.signal.aborted) return { kind: 'next', progress }
    if (canGoOn(timeline, waits, turnId, agent.clock.now())) {
      const { changes } = await conversation.entriesOfTurn(turnId)
      progress = await settlePendingCalls(turn, progress, callsWithoutResult(timeline, turnId), changes)
    } else if (await park(turn)) return { kind: 'waiting', progress, waits }
  }
}

/** Records that the turn only waits from now on. Returns false when something has arrived for the turn before the commit. */
async function park({ turnId, agent, conversation }: Turn): Promise<boolean> {
  const ts = agent.clock.now()
  let parked = false
  await conversation.ledger.commit((timeline) => {
    const waits = openWaits(timeline)
    parked = waits.length > 0 && !canGoOn(timeline, waits, turnId, ts)
    if (!parked) return []
    const unusable = unusableEvents(timeline, waits)
    // If the turn is already parked, nothing is committed. It is already parked if all its calls wait, because the commit with the calls
    // parks it.
    if (unusable.length === 0 && timeline.openTurn?.waiting_since !== undefined) return []
    const folded = { type: 'event.folded' as const, ts, event_ids: unusable.map(({ event_id }) => event_id), turn_id: null }
    return [...(unusable.length > 0 ? [folded] : []), { type: 'turn.waiting' as const, turn_id: turnId, ts, waits: [] }]
  })
  return parked
}

/** Decisions about calls that do not wait for a decision. They are removed from the inbox, because they can have no effect. */
const unusableEvents = ({ inbox }: Timeline, waits: readonly Wait[]): readonly InboxEvent[] =>
  inbox.filter((event) => event.kind === 'decision' && !waits.some((wait) => replyKey(wait) === callOf(event) || wakes(event, wait)))
