import type { Counts, StoredReceipt } from '../../../../ports/store/receipts.ts'

/** The row of a receipt in a database. */
export interface ReceiptRow {
  readonly receipt: string
  readonly started_at: string
  readonly finished_at: string | null
  readonly unfinished: number
}

export const receiptOf = (row: ReceiptRow, counts: readonly { readonly name: string; readonly count: number }[]): StoredReceipt => ({
  receiptId: row.receipt,
  startedAt: row.started_at,
  ...(row.finished_at !== null && { finishedAt: row.finished_at }),
  counts: Object.fromEntries(counts.map(({ name, count }) => [name, count])),
  unfinished: row.unfinished,
})

/** Calls `add` for each count above 0. */
export function addCounts(counts: Counts, add: (name: string, count: number) => void): void {
  for (const [name, count] of Object.entries(counts)) if (count > 0) add(name, count)
}
