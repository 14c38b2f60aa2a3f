import { Failure } from '../../core/failure.ts'
import { isChildKey, parseConversationKey } from '../../core/scope.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ConversationInfo, ListQuery } from '../../ports/store/list.ts'
import type { ConversationStore, Owner } from '../../ports/store.ts'

/** How much is stored of a tenant. */
export interface TenantSummary {
  readonly tenant: string
  readonly users: number
  /** The number of conversations, without those of sub-agents. */
  readonly conversations: number
  readonly openTurns: number
  /** Conversations whose open turn waits, for example for an approval. */
  readonly waiting: number
  readonly parked: number
  readonly lastActivityAt: string | null
}

/** The lease of a process on a conversation with an open turn. */
export interface HeldLease {
  readonly conversationId: string
  readonly turnId: string
  readonly owner: Pick<Owner, 'id' | 'host' | 'pid'>
  /** How long the journal has had no new entry, in seconds. A running turn writes an entry for each step. */
  readonly idleSeconds: number
}

/** The tenants of a store, sorted by name. The function reads the list of all conversations. */
export async function summariseTenants(store: ConversationStore): Promise<readonly TenantSummary[]> {
  const tenants = new Map<string, { users: Set<string>; summary: TenantSummary }>()
  for await (const { conversationId, openTurn, waits, parked, lastActivityAt } of allConversations(store, { top: true })) {
    const { tenant, project, user } = parseConversationKey(conversationId).scope
    const known = tenants.get(tenant)
    const users = (known?.users ?? new Set<string>()).add(JSON.stringify([project, user]))
    const before = known?.summary ?? { conversations: 0, openTurns: 0, waiting: 0, parked: 0, lastActivityAt: null }
    const summary = {
      tenant,
      users: users.size,
      conversations: before.conversations + 1,
      openTurns: before.openTurns + Number(openTurn !== null),
      waiting: before.waiting + Number(waits.length > 0),
      parked: before.parked + Number(parked !== undefined),
      lastActivityAt: [before.lastActivityAt, lastActivityAt].reduce((a, b) => ((a ?? '') > (b ?? '') ? a : b)),
    }
    tenants.set(tenant, { users, summary })
  }
  return [...tenants.values()].map(({ summary }) => summary).sort((a, b) => (a.tenant < b.tenant ? -1 : 1))
}

/**
 * The leases of conversations with an open turn. The turn that has had no new entry for the longest time comes first. A lease is left out
 * if its process is proven dead or has not renewed it in time. `asker` describes the calling process.
 */
export async function listHeldLeases(store: ConversationStore, asker: Owner, clock: Clock): Promise<readonly HeldLease[]> {
  const leases: HeldLease[] = []
  for await (const { conversationId, openTurn, lastActivityAt } of allConversations(store, { open: true })) {
    // The conversation of a sub-agent is left out, because the process that runs the calling conversation also has the lease of the
    // sub-agent's conversation.
    if (openTurn === null || isChildKey(conversationId)) continue
    const owner = await store.findOwner(conversationId, asker)
    if (!owner) continue
    const idleSeconds = Math.max(0, Math.round((Date.parse(clock.now()) - Date.parse(lastActivityAt ?? clock.now())) / 1_000))
    leases.push({ conversationId, turnId: openTurn, owner: { id: owner.id, host: owner.host, pid: owner.pid }, idleSeconds })
  }
  return leases.sort((a, b) => b.idleSeconds - a.idleSeconds)
}

/**
 * Ends the lease of a conversation, so that another process continues its turn. Returns false when no process has the lease. If the process
 * with the lease may be alive, the lease is ended only with `force`. The next step of that process then fails, and another process resumes
 * the turn.
 */
export async function releaseLease(store: ConversationStore, asker: Owner, key: string, force: boolean): Promise<boolean> {
  if (!(await store.head(key))) throw new Failure('conversation.missing', `there is no conversation ${key}`)
  const holder = await store.findOwner(key, asker)
  if (!holder) return false
  if (!force) {
    const { host, pid } = holder
    throw new Failure(
      'conversation.busy',
      `process ${pid} on ${host} holds ${key}, and nothing proves that it is dead: stop the turn, end the process, or take the lease with --force`,
      { details: { owner: { host, pid } } },
    )
  }
  await store.release(await store.claim(key, asker, { takeOver: 'always' }))
  return true
}

async function* allConversations(store: ConversationStore, filter: ListQuery): AsyncGenerator<ConversationInfo> {
  let cursor: string | undefined
  do {
    const page = await store.list({ limit: 500, ...filter, ...(cursor !== undefined && { cursor }) })
    yield* page.conversations
    cursor = page.next
  } while (cursor !== undefined)
}
