/**
 * Counts what deletions remove. The deletion of a user or a tenant takes many transactions. The counts are stored in the same transactions
 * that remove the data. Therefore they are complete even if a process dies during the deletion and another process continues.
 */
export interface Receipts {
  /**
   * Begins a receipt. If this subject has an unfinished receipt, that receipt is returned. `subject` is a hash and not a name, because the
   * receipt stays stored after the data of the user is removed. `newId` is the id of a new receipt.
   */
  open(subject: string, newId: string): Promise<StoredReceipt>
  /** The latest receipt of a subject. Undefined when there is none. */
  find(subject: string): Promise<StoredReceipt | undefined>
  /**
   * Ends a receipt. It removes and counts the data that the store has of the subject besides conversations. A receipt that is already
   * finished is not changed.
   */
  finish(receiptId: string, names: SubjectNames): Promise<StoredReceipt>
}

/** The names under which a store may have data of a user or tenant besides conversations. */
export interface SubjectNames {
  /** The tenants, as `tenantOfKey` returns them. A tenant that still has conversations of other users is not removed. */
  readonly tenants: readonly string[]
  /** The names of budgets, and the prefixes of such names. */
  readonly budgets: readonly string[]
  readonly budgetPrefixes: readonly string[]
}

/** How much was removed, by the name of a table or a kind of file. */
export type Counts = Readonly<Record<string, number>>

/** A receipt as the store has it. */
export interface StoredReceipt {
  readonly receiptId: string
  readonly startedAt: string
  /** When the deletion was finished. Missing while it is unfinished. */
  readonly finishedAt?: string
  /** The rows that were removed, by table, and the files, by kind. A name with the prefix `files.` is a kind of file. */
  readonly counts: Counts
  /** How many conversations are marked as deleted for this receipt, but not removed. */
  readonly unfinished: number
}

/** The name of the count of blobs that a deletion has removed. */
export const REMOVED_BLOBS = 'files.blobs'
/**
 * The name of the count of blobs that are not removed, because conversations of other users refer to them. The receipt has this count only
 * when it is finished.
 */
export const SHARED_BLOBS = 'kept.blobs'
