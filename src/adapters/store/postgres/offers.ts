import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import { OFFERS_PER_READ, type OfferedEvent, type OfferOutcome, type TakenOffer } from '../../../ports/store.ts'
import { conversationMissing } from '../shared/conversation-info.ts'
import { offeredChange, offeredEvent } from '../shared/offers.ts'
import { ensureBlobs, prepareAppend } from '../shared/prepare.ts'
import type { RowReader } from '../shared/rows.ts'
import type { BlobsWithin } from './blobs.ts'
import { lockBlobs } from './blobs.ts'
import { type Conversations, isStorableId, LOCK } from './conversations.ts'
import type { Database, Queries } from './database.ts'
import { hashOf } from './journal.ts'

interface OfferParts {
  readonly database: Database
  readonly conversations: Conversations
  readonly rows: RowReader
  readonly blobs: BlobStore
  readonly blobsWithin: BlobsWithin
  /** The clock that measures leases. */
  readonly clock: Pick<Clock, 'now'>
  onOffered(conversationId: string): void
}

/**
 * The table of offers. An offer is stored like a row of the journal, as the change `event.accepted`. Its references to blobs are in
 * `blob_refs`, with the negative number of the offer as `seq`.
 */
export function createOffers({ database, conversations, rows, blobs, blobsWithin, clock, onOffered }: OfferParts) {
  // The offers are not counted again, because then each of many offers would take longer than the one before.
  /** Counts a new offer. The conversation can then be claimed at once, also if earlier attempts failed. */
  const countOffer = (queries: Queries, key: number) =>
    queries.run(
      `UPDATE conversations SET offers = coalesce(offers, 0) + 1, offered_at = coalesce(offered_at, $2), attempts = 0, attempt_seq = NULL,
       retry_at = NULL, parked_at = NULL, failure = NULL WHERE key = $1`,
      [key, clock.now()],
    )
  const countTaken = (queries: Queries, key: number, taken: number) =>
    queries.run(
      `UPDATE conversations SET offers = nullif(greatest(coalesce(offers, 0) - $2, 0), 0), offered_at = CASE WHEN offers > $2 THEN offered_at END
       WHERE key = $1`,
      [key, taken],
    )

  const isStored = async (queries: Queries, key: number, eventId: string, body: string) =>
    (await queries.all('SELECT 1 FROM offers WHERE conversation = $1 AND event_hash = $2 AND body = $3', [key, hashOf(eventId), body]))
      .length > 0

  /** Checks an event and stores its large texts. `insert` then adds the offer, and must be called inside `write`. */
  async function prepare(conversationId: string, event: OfferedEvent, { create }: { readonly create?: true } = {}) {
    const change = offeredChange(event)
    const checkExists = async () => {
      if (!create && !(await conversations.findCommitted(conversationId))) throw conversationMissing(conversationId)
    }
    await checkExists()
    const prepared = await prepareAppend([change], blobs, checkExists)
    const [row] = prepared.rows
    const body = row?.body ?? ''
    let attempts = 0
    return {
      async insert(queries: Queries): Promise<'offered' | 'known'> {
        attempts++
        const conversation = create
          ? await conversations.findOrCreateExisting(queries, conversationId, clock.now())
          : await conversations.find(queries, conversationId, LOCK)
        if (!conversation) throw conversationMissing(conversationId)
        const [inserted] = await queries.all<{ number: number }>(
          `INSERT INTO offers (conversation, event_hash, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING number`,
          [conversation.key, hashOf(change.event.event_id), body],
        )
        // after a lost connection, the stored offer may be the one of the first attempt
        if (!inserted) return attempts > 1 && (await isStored(queries, conversation.key, change.event.event_id, body)) ? 'offered' : 'known'
        await queries.run('INSERT INTO blob_refs (conversation, seq, sha256) SELECT $1, $2, unnest($3::text[])', [
          conversation.key,
          -inserted.number,
          row?.blobs ?? [],
        ])
        await countOffer(queries, conversation.key)
        return 'offered'
      },
      async write<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
        const result = await database.repeat(async (queries) => {
          if (prepared.needed.size > 0) {
            await lockBlobs(queries, 'shared')
            await ensureBlobs(prepared.needed, blobsWithin(queries))
          }
          return work(queries)
        })
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
      const found = isStorableId(conversationId)
        ? await database.all<{ number: number; body: string }>(
            `SELECT number, body FROM offers WHERE conversation = (SELECT key FROM conversations WHERE id = $1 AND deleted_at IS NULL)
             AND outcome IS NULL ORDER BY number LIMIT ${OFFERS_PER_READ}`,
            [conversationId],
          )
        : []
      const entries = await rows.readRows(
        conversationId,
        found.map(({ number, body }) => ({ seq: number, body })),
      )
      return entries.flatMap(({ change }) => (change.type === 'event.accepted' ? [offeredEvent(change)] : []))
    },

    async find(conversationId: string, eventId: string) {
      if (!isStorableId(conversationId)) return undefined
      const [row] = await database.all<{ outcome: OfferOutcome | null }>(
        'SELECT outcome FROM offers JOIN conversations ON key = conversation WHERE id = $1 AND deleted_at IS NULL AND event_hash = $2',
        [conversationId, hashOf(eventId)],
      )
      return row && (row.outcome ?? 'open')
    },

    /** Marks offers as taken. */
    async take(queries: Queries, key: number, takes: readonly TakenOffer[], now: string): Promise<void> {
      const taken = await queries.run(
        `UPDATE offers SET outcome = take.outcome, taken_at = $2 FROM unnest($3::bytea[], $4::text[]) AS take (event_hash, outcome)
         WHERE conversation = $1 AND offers.event_hash = take.event_hash AND offers.outcome IS NULL`,
        [key, now, takes.map(({ eventId }) => hashOf(eventId)), takes.map(({ outcome }) => outcome)],
      )
      if (taken > 0) await countTaken(queries, key, taken)
    },

    /** Removes offers that were taken before this time, and returns their blobs. */
    async removeTaken(queries: Queries, before: string): Promise<readonly string[]> {
      const removed = await queries.all<{ sha256: string }>(
        `WITH removed AS (DELETE FROM offers WHERE taken_at < $1 RETURNING number, conversation)
         DELETE FROM blob_refs USING removed WHERE blob_refs.conversation = removed.conversation AND seq = -number RETURNING sha256`,
        [before],
      )
      return removed.map(({ sha256 }) => sha256)
    },
  }
}

export type Offers = ReturnType<typeof createOffers>
