import type { Queries } from './database.ts'

/** A number that no other program is likely to use as an advisory lock. */
const BLOB_LOCK = 0x64617963

/**
 * Takes the lock of blobs until the transaction ends. Transactions that write references to blobs share it. A transaction that removes
 * blobs has it alone. So no blob disappears between the check of an append and its commit.
 */
export async function lockBlobs(queries: Queries, mode: 'shared' | 'alone'): Promise<void> {
  await queries.run(mode === 'shared' ? 'SELECT pg_advisory_xact_lock_shared($1)' : 'SELECT pg_advisory_xact_lock($1)', [BLOB_LOCK])
}
