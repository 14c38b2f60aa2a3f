import { createHash } from 'node:crypto'
import { rememberPuts } from '../../core/collections/recent-puts.ts'
import { Failure } from '../../core/failure.ts'
import type { ListedBlobs, StoredBlob } from '../../ports/blobs.ts'
import type { ObjectStore } from './objects.ts'

/**
 * Stores blobs as objects with keys such as `daybook/blobs/ab/abcdef…`. An object is never partial, so `put` sends the bytes of an
 * existing object again only to renew its time. `list` returns nothing if the object store does not know when its objects were put.
 */
export function createObjectBlobs({ objects }: { readonly objects: ObjectStore }): ListedBlobs {
  return rememberPuts<ListedBlobs>({
    async put(bytes) {
      const copy = Uint8Array.from(bytes) // a copy, because the caller may modify the bytes before they are sent
      const sha256 = sha256Of(copy)
      const key = keyOf(sha256)
      const putAt = objects.putAt ? await objects.putAt(key) : (await objects.exists(key)) ? Date.now() : undefined
      if (putAt === undefined) await objects.put(key, copy, { ifMissing: true })
      // renews the time of the blob, so that a sweep does not remove the blob before an entry refers to it
      else if (putAt < Date.now() - REFRESH_MS) await objects.put(key, copy)
      return { sha256, size: copy.length }
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
      for (let at = start; at < end; ) {
        const next = Math.min(at + PIECE_BYTES, end)
        const piece = isHash(sha256) ? await objects.get(keyOf(sha256), { start: at, end: next }) : undefined
        if (!piece) throw missingBlob(sha256)
        if (piece.length !== next - at) throw damagedBlob(sha256)
        if (!range) hash.update(piece)
        if (!range && next === end && hash.digest('hex') !== sha256) throw damagedBlob(sha256)
        yield piece
        at = next
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

/** The size of a piece. Each piece is a request, so the pieces are larger than those of a file on disk. */
const PIECE_BYTES = 256 * 1024

const missingBlob = (sha256: string) => new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
const damagedBlob = (sha256: string) =>
  new Failure('blob.damaged', `blob ${sha256} is damaged, its bytes have another hash: restore it from a backup`, { details: { sha256 } })
const FOLDER = 'daybook/blobs'
const keyOf = (sha256: string) => `${FOLDER}/${sha256.slice(0, 2)}/${sha256}`
const isHash = (sha256: string) => /^[0-9a-f]{64}$/.test(sha256)
const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
