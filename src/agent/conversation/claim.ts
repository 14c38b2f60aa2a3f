import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { Failure } from '../../core/failure.ts'
import { parseProcessStat } from '../../core/process-stat.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Claim, type ConversationStore, HEARTBEAT_MS, type Owner } from '../../ports/store.ts'
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

type ProcessFacts = Pick<Owner, 'startedAt' | 'bootId' | 'pidNs'>

/**
 * Data that identifies this process. It does not change while the process runs, so it is read once. All agents of a process must have the
 * same data, even in different worker threads. Otherwise one agent would conclude that another agent belongs to a dead process that had the
 * same pid.
 */
let processFacts: ProcessFacts | undefined

/** Makes the owner for the claims of one agent. Every agent needs its own owner, even if several agents run in one process. */
export function createOwner(clock: Clock): Owner {
  processFacts ??= process.platform === 'linux' ? readLinuxFacts() : { startedAt: new Date(performance.timeOrigin).toISOString() }
  return { id: clock.randomHex(16), host: hostname(), pid: process.pid, ...processFacts }
}

/**
 * Data that identifies this process on Linux, read from `/proc`. If `/proc` is not readable, returns an empty object. Other processes then
 * can not find out whether this process is dead, and wait until its leases expire.
 */
function readLinuxFacts(): ProcessFacts {
  try {
    const stat = parseProcessStat(readFileSync('/proc/self/stat', 'utf8'))
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const pidNs = [readlinkSync('/proc/self/ns/pid'), ...timeNamespace()].join(' ')
    return stat && bootId !== '' ? { startedAt: stat.startedAt, bootId, pidNs } : {}
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return {}
    throw error
  }
}

/**
 * The time namespace of the process. Start times that were read in different time namespaces can not be compared. Linux kernels before 5.6
 * have no time namespaces.
 */
function timeNamespace(): readonly string[] {
  try {
    return [readlinkSync('/proc/self/ns/time')]
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
