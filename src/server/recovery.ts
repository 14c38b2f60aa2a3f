import type { Agent } from '../agent/agent.ts'
import type { SkippedConversation } from '../agent/recovery/recover.ts'
import type { Log } from './log.ts'

/**
 * How often the server looks for unfinished turns. Another process with the same store may die at any time and leave a turn unfinished. If
 * the lease of a skipped conversation ends earlier, the server looks earlier.
 */
const sweepMs = 30_000

/**
 * The shortest pause between two attempts. If the clock of the store is behind the clock of the server, a lease has ended for the server
 * but not for the store. Without the pause, the server would then try again at once, many times.
 */
const minPauseMs = 100

/**
 * Resumes unfinished turns now, and again at intervals. A conversation is skipped if another process has its claim. Then the next attempt
 * is made when the first lease of the skipped conversations ends. Also continues conversations for which other processes store events. The
 * returned function ends all this.
 */
export function startRecovery(agent: Pick<Agent, 'recover' | 'continueOffered'>, log: Log, now: () => string): () => void {
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

  const stopContinuing = agent.continueOffered()
  attempt()
  return () => {
    stopped = true
    stopContinuing()
    clearTimeout(timer)
  }
}

/**
 * Makes a function that logs skipped conversations. It logs a conversation again only if another process has the claim now. Otherwise the
 * same line would be logged at every attempt.
 */
function createSkipLog(log: Log): (skipped: SkippedConversation) => void {
  const logged = new Map<string, string>()
  return ({ conversationId, until, owner }) => {
    const name = `${owner?.host} ${owner?.pid}`
    if (logged.get(conversationId) === name) return
    logged.set(conversationId, name)
    log('warn', 'recover.skipped', { conversation: conversationId, until, ...owner })
  }
}
