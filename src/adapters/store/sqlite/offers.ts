import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import { OFFERS_PER_READ, type OfferedEvent, type OfferOutcome, type TakenOffer } from '../../../ports/store.ts'
import { checkConversationName, conversationMissing } from '../shared/conversation-info.ts'
import { offeredChange, offeredEvent } from '../shared/offers.ts'
import type { RowReader } from '../shared/rows.ts'
import { ensureBlobs, prepareAppend } from '../shared/validation/prepare.ts'
import type { Conversations } from './conversations.ts'
import type { Database } from './database.ts'

interface OfferParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly rows: RowReader
  readonly blobs: BlobStore
  readonly clock: Pick<Clock, 'now'>
  onOffered(conversationId: string): void
}

/**
 * The table of offers. An offer is stored like a row of the journal, as the change `event.accepted`. Its references to blobs are in
 * `blob_refs`, with the negative number of the offer as `seq`. So code that looks for references to a blob in `blob_refs` also finds the
 * references of offers.
 */
export function createOffers({ database, conversations, rows, blobs, clock, onOffered }: OfferParts) {
  const insertRow = database.writeStatement<{ number: number }>(
    'INSERT INTO offers (conversation, event, body) VALUES (?, ?, ?) ON CONFLICT (conversation, event) DO NOTHING RETURNING number',
  )
  const insertReference = database.writeStatement('INSERT INTO blob_refs (conversation, seq, sha256) VALUES (?, ?, ?)')
  const setTaken = database.writeStatement(
    'UPDATE offers SET outcome = ?, taken_at = ? WHERE conversation = ? AND event = ? AND outcome IS NULL',
  )
  // adds 1 to the number of offers, because counting all offers would take longer with each further offer
  const countOffer = database.writeStatement(
    `UPDATE conversations SET offers = coalesce(offers, 0) + 1, offered_at = coalesce(offered_at, ?2), attempts = 0, attempt_seq = NULL,
     retry_at = NULL, parked_at = NULL, failure = NULL WHERE key = ?1`,
  )
  const countTaken = database.writeStatement(
    `UPDATE conversations SET offers = nullif(max(coalesce(offers, 0) - ?2, 0), 0), offered_at = CASE WHEN offers > ?2 THEN offered_at END
     WHERE key = ?1`,
  )
  const notTaken = database.readStatement<{ number: number; body: string }>(
    `SELECT number, body FROM offers WHERE conversation = (SELECT key FROM conversations WHERE id = ? AND deleted_at IS NULL)
     AND outcome IS NULL ORDER BY number LIMIT ${OFFERS_PER_READ}`,
  )
  const byEvent = database.readStatement<{ outcome: OfferOutcome | null }>(
    `SELECT outcome FROM offers JOIN conversations ON key = conversation WHERE id = ? AND deleted_at IS NULL AND event = ?`,
  )
  const takenBefore = database.writeStatement<{ number: number; conversation: number }>(
    'DELETE FROM offers WHERE taken_at < ? RETURNING number, conversation',
  )
  const deleteReferences = database.writeStatement<{ sha256: string }>(
    'DELETE FROM blob_refs WHERE conversation = ? AND seq = ? RETURNING sha256',
  )

  function insertOffer(conversationId: string, event: string, body: string, hashes: readonly string[], create?: true): 'offered' | 'known' {
    const row = conversations.find(conversationId) ?? (create && conversations.create(conversationId, clock.now()))
    if (!row) throw conversationMissing(conversationId)
    const inserted = insertRow.get(row.key, event, body)
    if (!inserted) return 'known'
    for (const sha256 of hashes) insertReference.run(row.key, -inserted.number, sha256)
    countOffer.run(row.key, clock.now())
    return 'offered'
  }

  /** Checks an event and stores its large texts. `insert` then adds the offer, and must be called inside `write`. */
  async function prepare(conversationId: string, event: OfferedEvent, { create }: { readonly create?: true } = {}) {
    const change = offeredChange(event)
    if (create) checkConversationName(conversationId)
    const checkExists = () => {
      if (!create && !conversations.findCommitted(conversationId)) throw conversationMissing(conversationId)
    }
    checkExists()
    const prepared = await prepareAppend([change], blobs, checkExists)
    const [row] = prepared.rows
    return {
      insert: () => insertOffer(conversationId, change.event.event_id, row?.body ?? '', row?.blobs ?? [], create),
      async write<T>(work: () => T): Promise<T> {
        const result = await (prepared.needed.size === 0
          ? database.writeTogether(work, 'first')
          : database.write(async () => {
              await ensureBlobs(prepared.needed, blobs)
              return work()
            }))
        onOffered(conversationId)
        return result
      },
    }
  }

  return {
    prepare,

    async offer(conversationId: string, event: OfferedEvent, options?: { readonly create?: true }): Promise<'offered' | 'known'> {
      const { write, insert } = await prepare(conversationId, event, options)
      return write(insert)
    },

    async read(conversationId: string) {
      const found = conversationId.isWellFormed() ? database.read(() => notTaken.all(conversationId)) : []
      const entries = await rows.readRows(
        conversationId,
        found.map(({ number, body }) => ({ seq: number, body })),
      )
      return entries.flatMap(({ change }) => (change.type === 'event.accepted' ? [offeredEvent(change)] : []))
    },

    async find(conversationId: string, eventId: string) {
      if (!conversationId.isWellFormed() || !eventId.isWellFormed()) return undefined
      const row = database.read(() => byEvent.get(conversationId, eventId))
      return row && (row.outcome ?? 'open')
    },

    /** Marks offers as taken. Call it inside `database.write`. */
    take(conversation: number, takes: readonly TakenOffer[], now: string): void {
      let taken = 0
      for (const { eventId, outcome } of takes) taken += setTaken.run(outcome, now, conversation, eventId)
      if (taken > 0) countTaken.run(conversation, taken)
    },

    /** Removes offers that were taken before this time. Returns their number and their blobs. Call it inside `database.write`. */
    removeTaken(before: string): { readonly count: number; readonly hashes: readonly string[] } {
      const removed = takenBefore.all(before)
      const hashes = removed.flatMap(({ number, conversation }) => deleteReferences.all(conversation, -number).map(({ sha256 }) => sha256))
      return { count: removed.length, hashes }
    },
  }
}

export type Offers = ReturnType<typeof createOffers>
