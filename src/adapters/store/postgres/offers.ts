import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import { OFFERS_PER_READ, type OfferedEvent, type OfferOutcome, type TakenOffer } from '../../../ports/store.ts'
import { conversationMissing } from '../shared/conversation-info.ts'
import { offeredChange, offeredEvent } from '../shared/offers.ts'
import type { RowReader } from '../shared/rows.ts'
import { ensureBlobs, prepareAppend } from '../shared/validation/prepare.ts'
import type { BlobsWithin } from './blobs/blobs.ts'
import { lockBlobs } from './blobs/removal.ts'
import { isStorableId } from './conversation-columns.ts'
import { type Conversations, LOCK } from './conversations.ts'
import { type Database, type Queries, SHARED_ROW_IDLE_MS } from './database.ts'
import { hashOf } from './journal/journal.ts'

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
 * Inserts an offer, if there is no offer with this event id, and adds 1 to the number of offers. From then on, the conversation can be
 * claimed without a pause, even if earlier attempts failed. Counting all offers instead would take longer with each further offer.
 */
const INSERT = `
  WITH inserted AS (
    INSERT INTO offers (conversation, event_hash, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING number
  ), reference AS (INSERT INTO blob_refs (conversation, seq, sha256) SELECT $1, -number, unnest($4::text[]) FROM inserted)
  UPDATE conversations SET offers = coalesce(offers, 0) + 1, offered_at = coalesce(offered_at, $5), attempts = 0, attempt_seq = NULL,
    retry_at = NULL, parked_at = NULL, failure = NULL FROM inserted WHERE key = $1`

/**
 * The table of offers. An offer is stored like a row of the journal, as the change `event.accepted`. Its references to blobs are in
 * `blob_refs`, with the negative number of the offer as `seq`.
 */
export function createOffers({ database, conversations, rows, blobs, blobsWithin, clock, onOffered }: OfferParts) {
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
        const values = [conversation.key, hashOf(change.event.event_id), body, row?.blobs ?? [], clock.now()]
        const inserted = (await queries.run(INSERT, values)) > 0
        // after a lost connection, the offer that is already stored may be from the first attempt
        if (inserted) return 'offered'
        return attempts > 1 && (await isStored(queries, conversation.key, change.event.event_id, body)) ? 'offered' : 'known'
      },
      async write<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
        const result = await database.repeat(async (queries) => {
          if (prepared.needed.size > 0) {
            await lockBlobs(queries, 'shared')
            await ensureBlobs(prepared.needed, blobsWithin(queries))
          }
          return work(queries)
        }, SHARED_ROW_IDLE_MS)
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

    /** Marks offers as taken. The append has already locked the row of the conversation. */
    async take(queries: Queries, key: number, takes: readonly TakenOffer[], now: string): Promise<void> {
      await queries.run(
        `WITH taken AS (
           UPDATE offers SET outcome = take.outcome, taken_at = $2 FROM unnest($3::bytea[], $4::text[]) AS take (event_hash, outcome)
           WHERE conversation = $1 AND offers.event_hash = take.event_hash AND offers.outcome IS NULL RETURNING 1
         ), counted AS (SELECT count(*)::int AS count FROM taken)
         UPDATE conversations SET offers = nullif(greatest(coalesce(offers, 0) - count, 0), 0),
           offered_at = CASE WHEN offers > count THEN offered_at END FROM counted WHERE key = $1 AND count > 0`,
        [key, now, takes.map(({ eventId }) => hashOf(eventId)), takes.map(({ outcome }) => outcome)],
      )
    },

    /** Removes the offers of a conversation that were taken before this time, and returns their blobs. */
    async removeTaken(queries: Queries, key: number, before: string): Promise<readonly string[]> {
      const removed = await queries.all<{ sha256: string }>(
        `WITH removed AS (DELETE FROM offers WHERE conversation = $1 AND taken_at < $2 RETURNING number)
         DELETE FROM blob_refs USING removed WHERE conversation = $1 AND seq = -number RETURNING sha256`,
        [key, before],
      )
      return removed.map(({ sha256 }) => sha256)
    },
  }
}

export type Offers = ReturnType<typeof createOffers>
