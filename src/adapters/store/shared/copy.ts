import { createHash } from 'node:crypto'
import { blockNumber, callIdOf } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import { turnsLoggedBy } from '../../../core/timeline/journal-bundle.ts'
import { newerType } from '../../../core/timeline/parse-change.ts'
import type { OfferOutcome } from '../../../ports/store.ts'
import type { BudgetColumns } from './budgets.ts'
import type { ConversationRow } from './conversation-row.ts'
import { parseRow } from './rows.ts'

/* Types and functions to copy whole stores. The rows have a form that is the same for every kind of store. */

/** The columns of a conversation without its lease, because no process uses a store while it is copied. */
export const copiedColumns = [
  ...(['id', 'title', 'started_at', 'last_activity_at', 'open_turn', 'waiting', 'offers', 'waits', 'due_at'] as const),
  ...(['last_seq', 'indexed_seq', 'next_block', 'epoch', 'deleted_at'] as const),
  ...(['attempts', 'attempt_seq', 'retry_at', 'parked_at', 'failure', 'offered_at'] as const),
] satisfies readonly (keyof ConversationRow)[]

export type CopiedHead = Pick<ConversationRow, (typeof copiedColumns)[number]>

export interface CopiedEntry {
  readonly seq: number
  readonly type: string
  readonly ts: string
  readonly body: string
}

export interface CopiedOffer {
  readonly number: number
  readonly event: string
  readonly body: string
  readonly outcome: OfferOutcome | null
  readonly taken_at: string | null
}

export interface CopiedSchedule {
  readonly schedule: string
  readonly body: string
  readonly every: number | null
  readonly next_at: string | null
  readonly fired: number
  readonly fired_at: string | null
  readonly removed: number
}

/** All data of one conversation in a store, except data that can be computed from it. All lists are in the order of their numbers. */
export interface CopiedConversation {
  readonly head: CopiedHead
  readonly frame: { readonly seq: number; readonly body: string } | undefined
  readonly blocks: readonly { readonly number: number; readonly seq: number }[]
  readonly references: readonly { readonly seq: number; readonly sha256: string }[]
  readonly offers: readonly CopiedOffer[]
  readonly schedules: readonly CopiedSchedule[]
  /** The entries of the journal, in pages. They can be read only once. */
  readonly entries: AsyncIterable<readonly CopiedEntry[]>
}

/** How much data a store has. */
export interface CopyCounts {
  readonly conversations: number
  readonly entries: number
}

/** Reads the rows of a store. Unfinished deletions are included, so that the next server finishes them. */
export interface CopySource {
  count(): Promise<CopyCounts>
  /** The ids of all conversations after `after`, in the order of their UTF-8 bytes. */
  ids(after?: string): AsyncIterable<string>
  read(conversationId: string): Promise<CopiedConversation | undefined>
  /** The latest epoch of all claims. */
  latestEpoch(): Promise<number>
  /** The blobs that are about to be removed. */
  unreferencedBlobs(): Promise<readonly string[]>
  /** The budgets, without reservations, because no turn runs while a store is copied. */
  budgets(): Promise<readonly BudgetColumns[]>
  /** The receipts of deletions, in the order in which they were begun. */
  receipts(): Promise<readonly CopiedReceipt[]>
}

/** A store that is being filled. No other process can open it before `finish`. */
export interface CopyTarget extends CopySource {
  has(conversationId: string): Promise<boolean>
  /** Writes a conversation in one transaction. A conversation with this id is replaced. */
  write(conversation: CopiedConversation): Promise<void>
  remove(conversationId: string): Promise<void>
  /** Stores the data that belongs to no conversation. Then gives the copy its final name. Before that, no server can open the copy. */
  finish(rest: CopiedRest): Promise<void>
}

/** The data of a store that belongs to no conversation. */
export interface CopiedRest {
  readonly latestEpoch: number
  readonly unreferencedBlobs: readonly string[]
  readonly budgets: readonly BudgetColumns[]
  readonly receipts: readonly CopiedReceipt[]
}

/** A receipt of deletions. */
export interface CopiedReceipt {
  readonly receipt: string
  readonly subject: string
  readonly started_at: string
  readonly finished_at: string | null
  readonly counts: readonly { readonly name: string; readonly count: number }[]
  /**
   * While the deletion runs: the blobs that stay because other conversations refer to them, and the conversations that are marked as
   * deleted.
   */
  readonly blobs: readonly { readonly sha256: string }[]
  readonly conversations: readonly { readonly id: string; readonly files_counted: number }[]
}

type OfReceipt<Part extends 'counts' | 'blobs' | 'conversations'> = CopiedReceipt[Part][number] & { readonly receipt: string }

/** Makes receipts from the rows of the tables of receipts. */
export function receiptsOf(
  receipts: readonly Omit<CopiedReceipt, 'counts' | 'blobs' | 'conversations'>[],
  parts: {
    readonly counts: readonly OfReceipt<'counts'>[]
    readonly blobs: readonly OfReceipt<'blobs'>[]
    readonly conversations: readonly OfReceipt<'conversations'>[]
  },
): readonly CopiedReceipt[] {
  const of = <Row extends { readonly receipt: string }>(rows: readonly Row[]) => {
    const groups = Map.groupBy(rows, ({ receipt }) => receipt)
    return (receipt: string): readonly Row[] => groups.get(receipt) ?? []
  }
  const [counts, blobs, conversations] = [of(parts.counts), of(parts.blobs), of(parts.conversations)]
  return receipts.map((row) => ({
    ...row,
    counts: counts(row.receipt),
    blobs: blobs(row.receipt),
    conversations: conversations(row.receipt),
  }))
}

/** How many entries are read or written together. */
export const COPY_PAGE = 500

/** The paths, calls and turns by which an entry is found. */
export interface EntryNames {
  readonly paths: readonly string[]
  readonly calls: readonly string[]
  readonly turns: readonly string[]
}

/**
 * The names of an entry that is in the index. `firstSeq` has the `seq` of the first entry of each block number, because only the first
 * entry of a block is found by the names of the block. Throws `conversation.newer` for an entry of a newer version of Daybook, because this
 * version can not know its names.
 */
export function namesOfEntry(conversationId: string, entry: CopiedEntry, firstSeq: ReadonlyMap<number, number>): EntryNames {
  const value = parseRow(conversationId, entry)
  if (newerType(value) !== undefined)
    throw new Failure(
      'conversation.newer',
      `a newer version of Daybook has written entry ${entry.seq} of conversation ${conversationId}: update this installation first`,
    )
  const change = value as Change // only valid changes are stored
  const entered = blocksOfChange(change).filter(({ id }) => firstSeq.get(blockNumber(id) ?? -1) === entry.seq)
  return {
    paths: distinct(entered.map(({ path }) => path)),
    calls: distinct(entered.map(callIdOf)),
    turns: distinct([...turnsLoggedBy(change), ...entered.map(({ turn_id }) => turn_id)]),
  }
}

const distinct = (values: readonly (string | undefined)[]): readonly string[] => [...new Set(values.filter((value) => value !== undefined))]

/** A hash of everything that is copied of a conversation, and the number of its entries. Equal conversations in two stores have equal hashes. */
export async function digestOf(conversation: CopiedConversation): Promise<{ readonly hash: string; readonly entries: number }> {
  const { head, frame, blocks, references, offers, schedules, entries: pages } = conversation
  const hash = createHash('sha256')
  const add = (...values: readonly unknown[]) => hash.update(`${JSON.stringify(values)}\n`)
  add('head', ...copiedColumns.map((column) => head[column]))
  add('frame', frame?.seq, frame?.body)
  for (const { number, seq } of blocks) add('block', number, seq)
  for (const { seq, sha256 } of references) add('reference', seq, sha256)
  for (const { number, event, body, outcome, taken_at } of offers) add('offer', number, event, body, outcome, taken_at)
  for (const { schedule, body, every, next_at, fired, fired_at, removed } of schedules)
    add('schedule', schedule, body, every, next_at, fired, fired_at, removed)
  let entries = 0
  for await (const page of pages)
    for (const { seq, type, ts, body } of page) {
      entries++
      add('entry', seq, type, ts, body)
    }
  return { hash: hash.digest('hex'), entries }
}
