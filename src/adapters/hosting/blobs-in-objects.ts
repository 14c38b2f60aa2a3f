import { createHash } from 'node:crypto'
import { limitedPieces } from '../../core/collections/byte-pieces.ts'
import { rememberPuts } from '../../core/collections/recent-puts.ts'
import { Failure } from '../../core/failure.ts'
import type { ListedBlobs, StoredBlob, StreamingBlobs } from '../../ports/blobs.ts'
import type { ObjectStore } from './objects.ts'
import { spool } from './spool.ts'

/**
 * Stores blobs as objects with keys such as `daybook/blobs/ab/abcdef…`. An object is never partial, so `put` sends the bytes of an
 * existing object again only to renew its time. `list` returns nothing if the object store does not know when its objects were put.
 */
export function createObjectBlobs({ objects }: { readonly objects: ObjectStore }): StreamingBlobs<ListedBlobs> {
  /** Calls `send` if the blob is not stored, or if its time has to be renewed, so that a sweep does not remove it too early. */
  async function putIfNeeded(sha256: string, send: (key: string, options: { readonly ifMissing: boolean }) => Promise<void>) {
    const key = keyOf(sha256)
    const putAt = objects.putAt ? await objects.putAt(key) : (await objects.exists(key)) ? Date.now() : undefined
    if (putAt === undefined) await send(key, { ifMissing: true })
    else if (putAt < Date.now() - REFRESH_MS) await send(key, { ifMissing: false })
  }

  return rememberPuts<StreamingBlobs<ListedBlobs>>({
    async put(bytes) {
      const copy = Uint8Array.from(bytes) // a copy, because the caller may modify the bytes before they are sent
      const sha256 = sha256Of(copy)
      await putIfNeeded(sha256, (key, options) => objects.put(key, copy, options))
      return { sha256, size: copy.length }
    },
    async putStream(pieces, { maxBytes } = {}) {
      const content = await spool(limitedPieces(pieces, maxBytes))
      const { blob, size } = content
      try {
        await putIfNeeded(blob.sha256, async (key, options) =>
          objects.putLarge
            ? objects.putLarge(key, content, options)
            : objects.put(key, await content.read({ start: 0, end: size }), options),
        )
        return blob
      } finally {
        await content.close()
      }
    },
    async get(sha256) {
      const bytes = isHash(sha256) ? await objects.get(keyOf(sha256)) : undefined
      if (!bytes) throw missingBlob(sha256)
      if (sha256Of(bytes) !== sha256) throw damagedBlob(sha256)
      return bytes
    },
    async *stream({ sha256, size }, range) {
      const { start, end } = range ?? { start: 0, end: size }
      const hash = createHash('sha256')
      let length = PIECE_BYTES
      for (let at = start; at < end; ) {
        const next = Math.min(at + length, end)
        const bytes = isHash(sha256) ? await objects.get(keyOf(sha256), { start: at, end: next }) : undefined
        if (!bytes) throw missingBlob(sha256)
        if (bytes.length !== next - at) throw damagedBlob(sha256)
        if (!range) hash.update(bytes)
        if (!range && next === end && hash.digest('hex') !== sha256) throw damagedBlob(sha256)
        for (let from = 0; from < bytes.length; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES)
        at = next
        length = Math.min(length * 2, MAX_REQUEST_BYTES)
      }
      if (start === end && !(isHash(sha256) && (await objects.exists(keyOf(sha256))))) throw missingBlob(sha256)
    },
    has: async (sha256) => isHash(sha256) && objects.exists(keyOf(sha256)),
    async remove(sha256) {
      if (isHash(sha256)) await objects.delete(keyOf(sha256))
    },
    async list() {
      const listed: StoredBlob[] = []
      for await (const { key, size, putAt } of objects.listDetails?.(FOLDER) ?? []) {
        const sha256 = key.slice(key.lastIndexOf('/') + 1)
        if (isHash(sha256)) listed.push({ sha256, size, putAt })
      }
      return listed
    },
    async removeIfPutBefore(sha256, before) {
      if (!isHash(sha256)) return false
      const isOld = ((await inTime(objects.putAt?.(keyOf(sha256)))) ?? Number.POSITIVE_INFINITY) < before
      if (isOld) await objects.delete(keyOf(sha256))
      return isOld
    },
    async removeUnfinished(before) {
      await objects.removeUnfinished?.(FOLDER, before)
    },
    async check() {
      for await (const _key of objects.list(`${FOLDER}/check`)) break // fails if the bucket can not be used
    },
  })
}

/**
 * If a blob exists and was put longer ago than this, it is put again, which renews its time. A sweep removes blobs that are older than a
 * day and to which no entry refers.
 */
const REFRESH_MS = 12 * 3_600_000

/** For how many milliseconds `removeIfPutBefore` waits for the time of a blob. Meanwhile appends with blobs wait. */
const TIME_LIMIT_MS = 3_000

/**
 * Fails if the object store does not answer in time. Otherwise the blob could be removed when the caller no longer has its lock, and an
 * entry may refer to the blob then.
 */
async function inTime<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  const late = Promise.withResolvers<never>()
  const failure = new Failure('hosting.failed', 'the storage for files did not answer in time: try again later')
  const timer = setTimeout(() => late.reject(failure), TIME_LIMIT_MS)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** The size of a piece of a stream. */
const PIECE_BYTES = 256 * 1024

/**
 * A stream begins with a request for one piece, because some callers need only the beginning. Each further request asks for twice as many
 * bytes, up to this number, because a large blob would need thousands of requests otherwise.
 */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024

const missingBlob = (sha256: string) => new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
const damagedBlob = (sha256: string) =>
  new Failure('blob.damaged', `blob ${sha256} is damaged, its bytes have another hash: restore it from a backup`, { details: { sha256 } })
const FOLDER = 'daybook/blobs'
const keyOf = (sha256: string) => `${FOLDER}/${sha256.slice(0, 2)}/${sha256}`
const isHash = (sha256: string) => /^[0-9a-f]{64}$/.test(sha256)
const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
