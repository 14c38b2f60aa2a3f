import { Failure } from '../../core/failure.ts'
import { type Claim, type ConversationStore, HEARTBEAT_MS } from '../../ports/store.ts'
import type { AgentContext } from '../agent-context.ts'
import { isMissing } from '../deletion.ts'

type ReleaseResult = Parameters<ConversationStore['release']>[1]

/** Releases a claim. If this fails, the failure is only reported, because the lease of the claim expires after some time. */
export const releaseClaim = ({ store, onProblem }: AgentContext, claim: Claim, result?: ReleaseResult): Promise<void> =>
  store.release(claim, result).catch((error: unknown) => onProblem({ where: 'release', error }))

/**
 * Renews the lease regularly. If another process has taken over or deleted the conversation, the running turn is aborted. Any other failure
 * is reported, and the lease is renewed at the next interval.
 */
export function startHeartbeat(
  { store, onProblem }: AgentContext,
  { claim, abort }: { readonly claim: Claim; readonly abort: AbortController },
): () => void {
  const timer = setInterval(() => {
    store.renew(claim).catch((error: unknown) => (isLost(error) ? abort.abort(error) : onProblem({ where: 'heartbeat', error })))
  }, HEARTBEAT_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Whether an error means that this process may not write any more: another process has taken the conversation, or has deleted it. */
export const isLost = (error: unknown): boolean => isSuperseded(error) || isMissing(error)

/** Whether an error means that another process has taken the conversation from this process. */
export const isSuperseded = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.superseded'

/** Whether an error means that another process holds the claim, so that this process can not get it. */
export const isBusy = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.busy'

/** Whether an error means that only a newer version of Daybook can run the conversation. */
export const isNewer = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.newer'

/** Whether an error means that another process runs the conversation. False if the conversation is being deleted. */
export const runsElsewhere = (error: unknown): boolean => isBusy(error) && (error as Failure).details.owner !== undefined
