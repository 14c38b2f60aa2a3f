import type { Clock } from '../../../ports/clock.ts'
import { type Counts, type Receipts, SHARED_BLOBS, type StoredReceipt, type SubjectNames } from '../../../ports/store/receipts.ts'
import { addCounts } from '../shared/removal/receipts.ts'

interface MemoryReceipt {
  readonly subject: string
  readonly startedAt: string
  finishedAt?: string
  readonly counts: Map<string, number>
  /** The conversations of this receipt whose deletion has begun and has not ended. */
  readonly unfinished: Set<string>
  /** The conversations whose files are already in `counts`. */
  readonly filesCounted: Set<string>
  /** The blobs that were kept because another conversation referred to them. */
  readonly shared: Set<string>
}

interface ReceiptParts {
  readonly clock: Clock
  /** Whether a conversation refers to a blob. */
  isReferenced(sha256: string): boolean
  /** Removes budgets, and returns how many were removed. */
  removeBudgets(names: SubjectNames): number
}

/** The receipts of deletions, in memory. */
export function createReceipts({ clock, isReferenced, removeBudgets }: ReceiptParts) {
  const receipts = new Map<string, MemoryReceipt>()

  const read = (receiptId: string, { startedAt, finishedAt, counts, unfinished }: MemoryReceipt): StoredReceipt => ({
    receiptId,
    startedAt,
    ...(finishedAt !== undefined && { finishedAt }),
    counts: Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))),
    unfinished: unfinished.size,
  })
  const latest = (wanted: string) => [...receipts].findLast(([, { subject }]) => subject === wanted)
  const addTo = (receipt: MemoryReceipt, added: Counts) =>
    addCounts(added, (name, count) => void receipt.counts.set(name, (receipt.counts.get(name) ?? 0) + count))

  const port: Receipts = {
    async open(subject, newId) {
      const known = latest(subject)
      if (known && known[1].finishedAt === undefined) return read(...known)
      const sets = { unfinished: new Set<string>(), filesCounted: new Set<string>(), shared: new Set<string>() }
      const receipt = { subject, startedAt: clock.now(), counts: new Map<string, number>(), ...sets }
      receipts.set(newId, receipt)
      return read(newId, receipt)
    },
    async find(subject) {
      const known = latest(subject)
      return known && read(...known)
    },
    async finish(receiptId, names) {
      const receipt = receipts.get(receiptId) as MemoryReceipt // receipts are never removed
      if (receipt.finishedAt === undefined) {
        addTo(receipt, { budgets: removeBudgets(names), [SHARED_BLOBS]: [...receipt.shared].filter(isReferenced).length })
        receipt.shared.clear()
        receipt.filesCounted.clear()
        receipt.finishedAt = clock.now()
      }
      return read(receiptId, receipt)
    },
  }

  return {
    port,
    /** Adds the numbers of removed items of a conversation to its receipt. */
    add(receiptId: string | undefined, conversationId: string, counts: Counts): void {
      const receipt = receipts.get(receiptId ?? '')
      if (!receipt) return
      receipt.unfinished.add(conversationId)
      addTo(receipt, counts)
    },
    needsFiles: (receiptId: string | undefined, conversationId: string): boolean =>
      receipts.get(receiptId ?? '')?.filesCounted.has(conversationId) === false,
    addFiles(receiptId: string | undefined, conversationId: string, counts: Counts): void {
      const receipt = receipts.get(receiptId ?? '')
      if (!receipt || receipt.filesCounted.has(conversationId)) return
      receipt.filesCounted.add(conversationId)
      addTo(receipt, counts)
    },
    /**
     * Stores in the receipt that the conversation is completely removed. `kept` are the hashes of its blobs to which other conversations
     * refer.
     */
    end(receiptId: string | undefined, conversationId: string, counts: Counts, kept: readonly string[]): void {
      const receipt = receipts.get(receiptId ?? '')
      if (!receipt) return
      addTo(receipt, counts)
      for (const sha256 of kept) receipt.shared.add(sha256)
      receipt.unfinished.delete(conversationId)
    },
  }
}
