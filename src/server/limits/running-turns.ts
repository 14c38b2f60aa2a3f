import type { Archive } from '../../agent/archive/archive.ts'
import { conversationKeyFilter, parseConversationKey, tenantOfKey } from '../../core/scope.ts'

/** How long a count is reused, in milliseconds. One count covers all users of a tenant. */
const COUNT_MS = 500

/**
 * How long a message waits for a count, in milliseconds. If the count does not arrive in time, the message is accepted, and only the turns
 * of this server are limited.
 */
const WAIT_MS = 250

const MAX_TENANTS = 10_000

interface Count {
  readonly at: number
  readonly turns: Promise<ReadonlyMap<string, number> | undefined>
  /** By user: the conversations for which this server has accepted messages since the count. */
  readonly since: Map<string, Set<string>>
  /** By user: the conversations with turns. The map contains only users who may have reached their limit. */
  readonly conversations: Map<string, Promise<readonly string[] | undefined>>
}

/**
 * Makes a function that says how many other conversations of a user have a turn that runs or waits, on all servers of the store. Messages
 * that other servers accepted in the last half second are not counted.
 */
export function createTurnCounter(
  limits: Pick<NonNullable<Archive['limits']>, 'countTurns' | 'turnsOf'>,
  atMost: number,
  onProblem: (error: unknown) => void,
): (conversationKey: string) => Promise<number | undefined> {
  const counts = new Map<string, Count>()

  function countOf(conversationKey: string): Count {
    const tenant = tenantOfKey(conversationKey)
    const known = counts.get(tenant)
    if (known && performance.now() - known.at < COUNT_MS) return known
    if (counts.size >= MAX_TENANTS) counts.clear()
    const turns = limits.countTurns(conversationKey).catch((error: unknown) => {
      onProblem(error)
      return undefined
    })
    const count = { at: performance.now(), turns, since: new Map(), conversations: new Map() }
    counts.set(tenant, count)
    return count
  }

  /** The conversations of a user that have a turn. Undefined if the store does not answer in time. */
  function conversationsOf(count: Count, user: string, conversationKey: string): Promise<readonly string[] | undefined> {
    const known = count.conversations.get(user)
    if (known) return known
    const found = limits.turnsOf(conversationKey, atMost + 1).catch((error: unknown) => {
      onProblem(error)
      return undefined
    })
    count.conversations.set(user, found)
    return found
  }

  return async (conversationKey) => {
    const count = countOf(conversationKey)
    const filter = conversationKeyFilter(parseConversationKey(conversationKey).scope)
    const user = 'plain' in filter ? '' : filter.prefix
    const stored = (await within(WAIT_MS, count.turns))?.get(user) ?? 0
    const accepted = () => count.since.get(user) ?? new Set<string>()
    let others = stored + accepted().size - (accepted().has(conversationKey) ? 1 : 0)
    if (others >= atMost) {
      // until here, `others` counts a conversation twice if it had a turn and got a further message, and may include this conversation
      const found = await within(WAIT_MS, conversationsOf(count, user, conversationKey))
      if (found) others = [...new Set([...found, ...accepted()])].filter((key) => key !== conversationKey).length
    }
    if (others < atMost) count.since.set(user, accepted().add(conversationKey))
    return others
  }
}

/** The value of a promise, or undefined if the promise takes longer than `ms` milliseconds. */
async function within<T>(ms: number, value: Promise<T>): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), ms)
  try {
    return await Promise.race([value, late])
  } finally {
    clearTimeout(timer)
  }
}
