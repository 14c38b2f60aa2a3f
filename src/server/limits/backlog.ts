import type { Archive } from '../../agent/archive/archive.ts'
import { tenantOfKey } from '../../core/scope.ts'
import { RequestProblem } from '../problem.ts'

/** How long a count is reused, in milliseconds. */
const COUNT_MS = 500

const MAX_TENANTS = 10_000

/**
 * Makes a function that throws a problem with status 503 if too much work of a tenant waits. It counts the messages and turns that wait,
 * and allows at most `limit` of them. `nowMs` is the time in milliseconds.
 */
export function createBacklogGuard(
  work: Pick<Archive['work'], 'backlog'>,
  limit: number,
  nowMs: () => number,
): (conversationKey: string) => Promise<void> {
  const counts = new Map<string, { readonly at: number; readonly count: Promise<number> }>()

  function backlogOf(conversationKey: string): Promise<number> {
    const tenant = tenantOfKey(conversationKey)
    const known = counts.get(tenant)
    if (known && nowMs() - known.at < COUNT_MS) return known.count
    if (counts.size >= MAX_TENANTS) counts.clear()
    const count = work.backlog(conversationKey, limit + 1)
    counts.set(tenant, { at: nowMs(), count })
    count.catch(() => counts.delete(tenant)) // the caller gets the error of the promise. The next call counts again
    return count
  }

  return async (conversationKey) => {
    if ((await backlogOf(conversationKey)) <= limit) return
    throw new RequestProblem(503, 'server.overloaded', 'Too many messages wait for an answer; send the message again later.', {
      headers: { 'retry-after': '5' },
    })
  }
}
