import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../core/failure.ts'
import { ownerPrefixes } from '../../core/path/resource-name.ts'
import { belongsTo, isChildKey, keyPrefixOf, tenantKeys, type UserOrTenant } from '../../core/scope.ts'
import { ownBudgets } from '../../core/shared-budget.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Hosting } from '../../ports/hosting.ts'
import { type Counts, REMOVED_BLOBS, type Receipts, SHARED_BLOBS, type StoredReceipt } from '../../ports/store/receipts.ts'
import { type ConversationStore, LEASE_MS } from '../../ports/store.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { type Deletion, HOSTED_FILES, WORKING_FILES } from '../deletion.ts'

/**
 * What the deletion of a user or tenant has removed, and what it could not remove. It contains neither the name nor any text of the user.
 */
export interface DeletionReceipt {
  readonly receiptId: string
  readonly startedAt: string
  readonly finishedAt: string
  /** How many rows were removed from each table of the store. */
  readonly tables: Counts
  readonly files: {
    /**
     * How many blobs were removed: large texts, attachments and files of turns. A blob to which other conversations refer is not removed.
     */
    readonly blobs: number
    /** How many hosted files were removed. */
    readonly hosted: number
    /** How many files were removed from the workspaces of this machine. */
    readonly working: number
  }
  readonly remains: readonly Remainder[]
}

/** Data that a deletion did not remove. */
export interface Remainder {
  readonly what:
    | 'shared blobs'
    | 'back-ups'
    | 'log of the database'
    | 'remote repository'
    | 'other machines'
    | 'knowledge base'
    | 'providers and logs'
  readonly why: string
  /** The number of items, if it is known. */
  readonly count?: number
}

/**
 * A receipt, and the prefixes of the storage keys of the removed data. The prefixes contain the name of the user or tenant. The receipt
 * does not.
 */
export interface OwnerDeletion {
  readonly receipt: DeletionReceipt
  readonly prefixes: readonly string[]
}

interface DeleteOwnerParts {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
  readonly deletion: Pick<Deletion, 'delete' | 'finish'>
}

/** How long a deletion waits for a conversation that another process runs. A lease that is not renewed ends within this time. */
const BUSY_WAIT_MS = LEASE_MS + 15_000
const BUSY_POLL_MS = 100
/** The greatest number of times that the conversations are listed again. New conversations may have been created during the deletion. */
const MAX_PASSES = 10

/**
 * Deletes all conversations of a user or tenant, and returns a receipt. If the process dies, the next call continues the deletion, and its
 * receipt also counts what the first call removed. If nothing is left to delete, the receipt of the last deletion is returned.
 */
export async function deleteOwner(owner: UserOrTenant, parts: DeleteOwnerParts): Promise<OwnerDeletion> {
  const { store, clock, hosting, workspaces } = parts
  const receipts = receiptsOf(store)
  const subject = subjectOf(owner)
  const done = await receipts.find(subject)
  const isRepeated = done?.finishedAt !== undefined && (await conversationsOf(store, owner)).length === 0
  if (isRepeated) return deletionOf(done, owner, parts)
  const { receiptId } = await receipts.open(subject, clock.randomHex(12))
  for (let pass = 0; ; pass++) {
    const keys = await conversationsOf(store, owner)
    if (keys.length === 0) break
    if (pass === MAX_PASSES)
      throw new Failure(
        'conversation.busy',
        'new conversations are created all the time: end the access of the user first, and delete again',
      )
    // Deleting a conversation also deletes the conversations of its sub-agents. Therefore the conversations of sub-agents come last: most
    // of them are already deleted then.
    for (const key of [...keys].sort((a, b) => Number(isChildKey(a)) - Number(isChildKey(b)))) await deleteWhenFree(key, receiptId, parts)
  }
  await finishOthers(subject, receipts, parts)
  await workspaces?.removeFolders?.(owner)
  await hosting?.removeFolders?.(owner)
  const { names: budgets, prefixes: budgetPrefixes } = ownBudgets(owner)
  return deletionOf(await receipts.finish(receiptId, { tenants: tenantKeys(owner), budgets, budgetPrefixes }), owner, parts)
}

function receiptsOf({ receipts }: ConversationStore): Receipts {
  if (receipts) return receipts
  throw new Failure('receipt.unsupported', 'the store of this agent can not delete a user or tenant as a whole: it has no `receipts`')
}

/** A hash that identifies a user or tenant without the name. */
function subjectOf({ tenant, project, user }: UserOrTenant): string {
  return createHash('sha256')
    .update(JSON.stringify(user === undefined ? [tenant] : [tenant, project, user]))
    .digest('hex')
}

/** The keys of all conversations of a user or tenant, including the conversations of sub-agents. */
export async function conversationsOf(store: Pick<ConversationStore, 'list'>, owner: UserOrTenant): Promise<readonly string[]> {
  const keys: string[] = []
  const prefix = keyPrefixOf(owner)
  let cursor: string | undefined
  do {
    const page = await store.list({ limit: 500, ...(prefix !== undefined && { prefix }), ...(cursor !== undefined && { cursor }) })
    keys.push(...page.conversations.map(({ conversationId }) => conversationId).filter((key) => belongsTo(key, owner)))
    cursor = page.next
  } while (cursor !== undefined)
  return keys
}

/** Deletes a conversation. If another process runs it, the turn is stopped there, and the deletion waits for its end. */
async function deleteWhenFree(key: string, receipt: string, { store, clock, deletion }: DeleteOwnerParts): Promise<void> {
  let stopped: string | undefined
  for (let waited = 0; ; waited += BUSY_POLL_MS) {
    try {
      await deletion.delete(key, { receipt })
      return
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'conversation.busy') || waited >= BUSY_WAIT_MS) throw error
    }
    const turn = (await store.head(key))?.openTurn ?? undefined
    if (turn !== undefined && turn !== stopped) {
      const event = { event_id: clock.randomHex(12), kind: 'steer' as const, ts: clock.now(), text: '', target_turn_id: turn }
      await store.offer(key, event).catch(ignoreMissing)
      stopped = turn
    }
    await sleep(BUSY_POLL_MS)
  }
}

/** Ignores the error that the conversation is missing, because another process has deleted it. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof Failure && error.code === 'conversation.missing')) throw error
}

/**
 * Finishes deletions for this receipt that a dead process left unfinished. If a living process is working on them, the function waits for
 * it.
 */
async function finishOthers(subject: string, receipts: Receipts, { deletion }: DeleteOwnerParts): Promise<void> {
  for (let waited = 0; ; waited += BUSY_POLL_MS) {
    if (((await receipts.find(subject))?.unfinished ?? 0) === 0) return
    await deletion.finish()
    if (((await receipts.find(subject))?.unfinished ?? 0) === 0) return
    if (waited >= BUSY_WAIT_MS)
      throw new Failure('conversation.busy', 'another process is deleting conversations of this user or tenant: delete again in a minute')
    await sleep(BUSY_POLL_MS)
  }
}

function deletionOf(stored: StoredReceipt, owner: UserOrTenant, { workspaces }: DeleteOwnerParts): OwnerDeletion {
  const { receiptId, startedAt, finishedAt = startedAt, counts } = stored
  const tables = Object.fromEntries(Object.entries(counts).filter(([name]) => !name.includes('.')))
  const count = (name: string) => counts[name] ?? 0
  const files = { blobs: count(REMOVED_BLOBS), hosted: count(HOSTED_FILES), working: count(WORKING_FILES) }
  const remains = remainders(count(SHARED_BLOBS), workspaces?.implementation === 'git')
  return { receipt: { receiptId, startedAt, finishedAt, tables, files, remains }, prefixes: ownerPrefixes(owner) }
}

function remainders(sharedBlobs: number, isGit: boolean): readonly Remainder[] {
  return [
    ...(sharedBlobs > 0
      ? [{ what: 'shared blobs' as const, count: sharedBlobs, why: 'conversations of other users refer to the same bytes' }]
      : []),
    { what: 'back-ups', why: 'older back-ups have the data until you delete them; after a restore, delete the data again' },
    {
      what: 'log of the database',
      why: 'PostgreSQL keeps removed rows until it vacuums the tables and reuses its log; SQLite overwrites them, and empties its log as soon as no process reads',
    },
    ...(isGit
      ? [{ what: 'remote repository' as const, why: 'its refs were removed, and git removes the objects when it next collects garbage' }]
      : []),
    { what: 'other machines', why: 'working files of open turns may be in the data folders of other servers until these remove them' },
    { what: 'knowledge base', why: 'its documents are files of the installation, and belong to no user' },
    { what: 'providers and logs', why: 'Daybook can not delete the data that it has sent to models, tools, logs and traces' },
  ]
}
