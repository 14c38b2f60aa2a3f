import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobRef } from '../../core/block/index.ts'
import { limitedPieces } from '../../core/collections/byte-pieces.ts'
import { rememberPuts } from '../../core/collections/recent-puts.ts'
import { errorMessage, Failure } from '../../core/failure.ts'
import type { ByteRange, ListedBlobs, StoredBlob, StreamingBlobs } from '../../ports/blobs.ts'
import {
  identityOf,
  isNotFound,
  listFolder,
  makeFolders,
  modifiedAt,
  moveAside,
  openIfExists,
  readIfExists,
  sizeOf,
  statIfExists,
  syncFolder,
  touchIfWhole,
  writeDurably,
} from './durable-files.ts'

/** How many bytes `check` writes. This is more than one page of any file system, so `check` also fails if the disk is nearly full. */
const PROBE_BYTES = 65_536

/**
 * A blob store with one file per blob, named by its hash:
 *
 *   <folder>/ab/abcdef…        a blob, complete and durable
 *   <folder>/incoming/…        a draft: a blob that is being written. Drafts that a crash left are removed after an hour
 *
 * A blob, or a stream whose hash is not known yet, is written to `incoming`, synced to disk, and renamed. Then its folder is synced, so that the new name is durable too. The
 * modification time of the file is the time of the last put.
 */
export function createFileBlobs({ folder }: { readonly folder: string }): StreamingBlobs<ListedBlobs> {
  const incoming = join(folder, 'incoming')
  let prepared: Promise<void> | undefined

  const folderOf = (sha256: string) => join(folder, sha256.slice(0, 2))
  const pathOf = (sha256: string) => join(folderOf(sha256), sha256)

  let identity: string | undefined // device and inode of `folder` when it was first used

  function prepare(): Promise<void> {
    prepared ??= makeFolders(folder, incoming, checkFolder).catch((error: unknown) => {
      prepared = undefined // the next put tries again
      throw error
    })
    return prepared
  }

  /**
   * Throws when the folder was removed or replaced since it was first used. The blobs in the old folder are then lost, and writing to a new
   * folder would hide the loss.
   */
  async function checkFolder(): Promise<void> {
    const found = await identityOf(folder)
    if (identity !== undefined && found !== identity) throw new Error(`the folder ${folder} was removed or replaced: restore it`)
    identity ??= found
  }

  /** Runs `work`, which needs the folder `incoming`. If a person or a program has removed this folder, creates it and tries again. */
  async function withIncoming<T>(work: () => Promise<T>): Promise<T> {
    await prepare()
    try {
      return await work()
    } catch (error) {
      if (!isNotFound(error)) throw error
      prepared = undefined
      await prepare()
      return work()
    }
  }

  async function write(sha256: string, bytes: Uint8Array): Promise<void> {
    const draft = newDraft(sha256)
    try {
      await writeDurably(draft, bytes)
      await moveIntoPlace(draft, sha256)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  const newDraft = (name: string) => join(incoming, `${name}.${randomBytes(6).toString('hex')}`)

  async function moveIntoPlace(draft: string, sha256: string): Promise<void> {
    if ((await mkdir(folderOf(sha256), { recursive: true, mode: 0o700 })) !== undefined) await syncFolder(folder)
    await rename(draft, pathOf(sha256))
  }

  /** Writes a stream to a draft and syncs it. */
  async function writeStream(draft: string, pieces: AsyncIterable<Uint8Array>): Promise<BlobRef> {
    const hash = createHash('sha256')
    let size = 0
    const file = await written(() => withIncoming(() => open(draft, 'wx', 0o600)))
    try {
      for await (const piece of pieces) {
        hash.update(piece)
        size += piece.length
        await written(() => file.writeFile(piece)) // appends the piece
      }
      await written(() => file.sync())
    } finally {
      await file.close()
    }
    return { sha256: hash.digest('hex'), size }
  }

  return rememberPuts<StreamingBlobs<ListedBlobs>>({
    async put(bytes) {
      const sha256 = sha256Of(bytes)
      await written(async () => {
        await withIncoming(async () => {
          if (!(await touchIfWhole(pathOf(sha256), bytes.length))) await write(sha256, bytes)
        })
        // sync also for an existing blob: another process may have renamed it but not yet synced the folder
        await syncFolder(folderOf(sha256))
      }, sha256)
      return { sha256, size: bytes.length }
    },

    async putStream(pieces, { maxBytes } = {}) {
      const draft = newDraft('stream')
      try {
        const blob = await writeStream(draft, limitedPieces(pieces, maxBytes))
        const { sha256, size } = blob
        await written(async () => {
          if (!(await touchIfWhole(pathOf(sha256), size))) await moveIntoPlace(draft, sha256)
          await syncFolder(folderOf(sha256))
        }, sha256)
        return blob
      } finally {
        await rm(draft, { force: true }).catch(() => {}) // ignored: this error would hide the first one, and old drafts are removed later
      }
    },

    async get(sha256) {
      const bytes = isHash(sha256) ? await readIfExists(pathOf(sha256)) : undefined
      if (!bytes) throw missingBlob(sha256)
      if (sha256Of(bytes) !== sha256) throw damagedBlob(sha256)
      return bytes
    },

    async *stream(blob, range) {
      const { sha256, size } = blob
      const file = isHash(sha256) ? await openIfExists(pathOf(sha256)) : undefined
      if (!file) throw missingBlob(sha256)
      try {
        if ((await file.stat()).size !== size) throw damagedBlob(sha256)
        yield* range ? piecesOf(file, blob, range) : checkedPieces(file, blob)
      } finally {
        await file.close()
      }
    },

    has: async (sha256) => isHash(sha256) && (await sizeOf(pathOf(sha256))) !== undefined,

    async remove(sha256) {
      if (isHash(sha256)) await rm(pathOf(sha256), { force: true })
    },

    async list() {
      const listed: StoredBlob[] = []
      for (const name of await listFolder(folder)) {
        if (!/^[0-9a-f]{2}$/.test(name)) continue
        for (const sha256 of (await listFolder(join(folder, name))).filter(isHash)) {
          const file = await statIfExists(pathOf(sha256))
          if (file) listed.push({ sha256, size: file.size, putAt: file.mtimeMs })
        }
      }
      return listed
    },

    async check() {
      const probe = join(incoming, `probe.${randomBytes(6).toString('hex')}`)
      try {
        await prepare()
        await checkFolder()
        await withIncoming(() => writeDurably(probe, new Uint8Array(PROBE_BYTES)))
      } catch (error) {
        throw new Failure('store.failed', `no blob can be stored: ${errorMessage(error)}`, { cause: error })
      } finally {
        await rm(probe, { force: true }).catch(() => {}) // ignored: this error would hide the error of the check
      }
    },

    async removeIfPutBefore(sha256, before) {
      if (!isHash(sha256)) return false
      await prepare()
      await mkdir(incoming, { recursive: true, mode: 0o700 }) // a person or a program may have removed this folder
      const aside = join(incoming, `${sha256}.${randomBytes(6).toString('hex')}`)
      if (!(await moveAside(pathOf(sha256), aside))) return false
      // Read the time after the move. A put before the move has updated the time, and a put after the move finds no file and writes a new
      // one.
      const isOld = ((await modifiedAt(aside)) ?? before) < before
      if (isOld) await rm(aside, { force: true })
      else await rename(aside, pathOf(sha256))
      return isOld
    },
  })
}

/**
 * Whether a text is a SHA-256 in hexadecimal. Check this before the text becomes part of a path, because the text may come from an
 * untrusted caller.
 */
export const isHash = (sha256: string) => /^[0-9a-f]{64}$/.test(sha256)

/** Makes an error of the file system a `store.failed`. The hash of a stream is not known before its end. */
async function written<T>(work: () => Promise<T>, sha256?: string): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const name = sha256 === undefined ? 'a blob' : `blob ${sha256}`
    const details = sha256 === undefined ? {} : { sha256 }
    throw new Failure('store.failed', `${name} could not be written: ${errorMessage(error)}`, { cause: error, details })
  }
}

const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const missingBlob = (sha256: string) => new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
const damagedBlob = (sha256: string) =>
  new Failure('blob.damaged', `blob ${sha256} is damaged, its bytes have another hash: restore it from a backup`, { details: { sha256 } })
const PIECE_BYTES = 64 * 1024

async function* piecesOf(file: FileHandle, { sha256 }: BlobRef, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; ) {
    const piece = new Uint8Array(Math.min(PIECE_BYTES, end - at))
    const { bytesRead } = await file.read(piece, 0, piece.length, at)
    if (bytesRead === 0) throw damagedBlob(sha256) // the file was truncated while it was read
    yield piece.subarray(0, bytesRead)
    at += bytesRead
  }
}

/**
 * All bytes of a blob. The last piece is yielded only if the hash of all bytes is right. So a caller never gets a complete blob with
 * damaged bytes.
 */
async function* checkedPieces(file: FileHandle, blob: BlobRef): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  let left = blob.size
  for await (const piece of piecesOf(file, blob, { start: 0, end: blob.size })) {
    hash.update(piece)
    left -= piece.length
    if (left === 0 && hash.digest('hex') !== blob.sha256) throw damagedBlob(blob.sha256)
    yield piece
  }
}
