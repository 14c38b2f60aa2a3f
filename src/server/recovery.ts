import type { Agent } from '../agent/agent.ts'
import type { SkippedConversation } from '../agent/recovery/recover.ts'
import type { Log } from './log.ts'

/**
 * How often the server looks for unfinished turns, if it knows no earlier time for an attempt. Another process on the same store may die at
 * any time.
 */
const sweepMs = 30_000

/** The shortest pause between two attempts. It is needed if the clock of the store is behind that of the server. */
const minPauseMs = 100

/**
 * Resumes unfinished turns now, and again at intervals. If conversations were skipped, the next attempt is made when the first of their
 * leases ends. The returned function stops the attempts.
 */
export function startRecovery(agent: Pick<Agent, 'recover'>, log: Log, now: () => string): () => void {
  const logSkipped = createSkipLog(log)
  let timer: NodeJS.Timeout | undefined
  let nextAt = Number.POSITIVE_INFINITY
  let stopped = false

  function tryAt(time: number): void {
    if (stopped || !(time < nextAt)) return // also true if `time` is NaN
    clearTimeout(timer)
    nextAt = time
    timer = setTimeout(attempt, Math.max(time - Date.parse(now()), minPauseMs))
    timer.unref()
  }

  function attempt(): void {
    nextAt = Number.POSITIVE_INFINITY
    tryAt(Date.parse(now()) + sweepMs)
    const onSkipped = (skipped: SkippedConversation) => {
      logSkipped(skipped)
      tryAt(Date.parse(skipped.until))
    }
    agent.recover({ onSkipped }).catch((error: unknown) => log('error', 'recover.failed', { error }))
  }

  attempt()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}

/** Logs a skipped conversation once for each owner. A living owner would otherwise be logged at every attempt. */
function createSkipLog(log: Log): (skipped: SkippedConversation) => void {
  const logged = new Map<string, string>()
  return ({ conversationId, until, owner }) => {
    const name = `${owner?.host} ${owner?.pid}`
    if (logged.get(conversationId) === name) return
    logged.set(conversationId, name)
    log('warn', 'recover.skipped', { conversation: conversationId, until, ...owner })
  }
}
