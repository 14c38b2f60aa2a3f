import type { ServiceError } from '../../core/model-event.ts'
import type { Change, Wait } from '../../core/timeline/change.ts'
import type { Progress, RoundResult } from '../turn/progress.ts'
import type { Turn } from '../turn/turn.ts'
import { waitingChange } from './approvals.ts'
import { canGoOn, openWaits } from './wait-events.ts'

/**
 * Lets the turn wait if the provider can not answer now and says when to ask again. The failed call is not in the journal, so the round is
 * repeated after the wait. Undefined when the error has another reason, or when the turn would wait longer than `providerWaitSeconds` in
 * all.
 */
export async function waitForProvider(turn: Turn, progress: Progress, error: ServiceError): Promise<RoundResult | undefined> {
  const { turnId, agent, conversation } = turn
  const { kind, stage, retryable, retry_after_seconds: seconds } = error
  if ((kind !== 'rate_limited' && kind !== 'overloaded') || stage !== 'before_output' || !retryable || seconds === undefined)
    return undefined
  if (seconds > agent.settings.providerWaitSeconds) return undefined
  const { changes } = await conversation.entriesOfTurn(turnId)
  if (waitedSeconds(changes) + seconds > agent.settings.providerWaitSeconds) return undefined
  const until = new Date(Date.parse(agent.clock.now()) + seconds * 1000).toISOString()
  const wait: Wait = {
    wait_id: `provider-${progress.iteration}`,
    kind: 'provider',
    question: `${error.model_name} accepts no requests until ${until}.`,
    expires_at: until,
  }
  await conversation.ledger.commit(waitingChange(turn, [wait], false))
  const waits = openWaits(conversation.ledger.timeline)
  return { kind: 'waiting', progress, waits }
}

/** How many seconds the turn has waited for providers so far. A wait that ended early is counted with its planned length. */
function waitedSeconds(changes: readonly Change[]): number {
  let seconds = 0
  for (const change of changes) {
    if (change.type !== 'turn.waiting') continue
    for (const { kind, expires_at } of change.waits) {
      if (kind === 'provider' && expires_at !== undefined) seconds += (Date.parse(expires_at) - Date.parse(change.ts)) / 1000
    }
  }
  return seconds
}

/** Ends the wait for a provider if its time is over, or if a user steers. Otherwise the turn still waits. */
export async function endProviderWait(turn: Turn, progress: Progress): Promise<RoundResult | undefined> {
  const { turnId, agent, conversation } = turn
  const waits = openWaits(conversation.ledger.timeline).filter(({ kind }) => kind === 'provider')
  if (waits.length === 0) return undefined
  const ts = agent.clock.now()
  if (!canGoOn(conversation.ledger.timeline, waits, turnId, ts)) return { kind: 'waiting', progress, waits }
  await conversation.ledger.commit([{ type: 'turn.resumed', turn_id: turnId, ts, wait_ids: waits.map(({ wait_id }) => wait_id) }])
  return undefined
}
