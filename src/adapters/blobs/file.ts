import { createHash, randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobRef } from '../../core/block/index.ts'
import { errorMessage, Failure } from '../../core/failure.ts'
import type { BlobStore } from '../../ports/blobs.ts'

/** Blobs that can be looked through, for whoever knows which of them are needed. */
export interface FileBlobs extends BlobStore {
  /** Each with the time it was last put, in milliseconds. Writes nothing; there are none where the folder was never made. */
  list(): Promise<readonly StoredBlob[]>
  /** False, and it stays, when it was put since `before`; also when it is not there. */
  removeIfPutBefore(sha256: string, before: number): Promise<boolean>
}

export interface StoredBlob extends BlobRef {
  readonly putAt: number
}

/**
 * One file per blob, named by its content:
 *
 *   <folder>/ab/abcdef…        whole and durable, or not there at all
 *   <folder>/incoming/…        being written; what a crash leaves here is removed an hour later
 *
 * A blob is written beside its place, synced, and renamed into it; then the folder is synced, so that the name is durable too. The time
 * of its file is when it was last put: one that is put again is as young as a new one.
 */
export function createFileBlobs({ folder }: { readonly folder: string }): FileBlobs {
  const incoming = join(folder, 'incoming')
  let prepared: Promise<void> | undefined

  const shelf = (sha256: string) => join(folder, sha256.slice(0, 2))
  const place = (sha256: string) => join(shelf(sha256), sha256)

  function prepare(): Promise<void> {
    prepared ??= makeFolders(folder, incoming).catch((error: unknown) => {
      prepared = undefined // a full or read-only disk may be mended: the next put asks again
      throw error
    })
    return prepared
  }

  async function write(sha256: string, bytes: Uint8Array): Promise<void> {
    const draft = join(incoming, `${sha256}.${randomBytes(6).toString('hex')}`)
    try {
      const file = await open(draft, 'wx', 0o600)
      try {
        await file.writeFile(bytes)
        await file.sync()
      } finally {
        await file.close()
      }
      if ((await mkdir(shelf(sha256), { recursive: true, mode: 0o700 })) !== undefined) await syncFolder(folder)
      await rename(draft, place(sha256))
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    }
  }

  return {
    async put(bytes) {
      const sha256 = sha256Of(bytes)
      try {
        await prepare()
        if (!(await touchIfWhole(place(sha256), bytes.length))) await write(sha256, bytes)
        await syncFolder(shelf(sha256)) // also when it was there: whoever renamed it may not have come this far
      } catch (error) {
        throw new Failure('store.failed', `blob ${sha256} could not be written: ${errorMessage(error)}`, {
          cause: error,
          details: { sha256 },
        })
      }
      return { sha256, size: bytes.length }
    },

    async get(sha256) {
      const bytes = isHash(sha256) ? await readIfExists(place(sha256)) : undefined
      if (!bytes) throw new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
      if (sha256Of(bytes) !== sha256) {
        throw new Failure('blob.damaged', `the bytes of blob ${sha256} are no longer those that were put`, { details: { sha256 } })
      }
      return bytes
    },

    has: async (sha256) => isHash(sha256) && (await sizeOf(place(sha256))) !== undefined,

    async remove(sha256) {
      if (isHash(sha256)) await rm(place(sha256), { force: true })
    },

    async list() {
      const found: StoredBlob[] = []
      for (const name of await listFolder(folder)) {
        if (!/^[0-9a-f]{2}$/.test(name)) continue
        for (const sha256 of (await listFolder(join(folder, name))).filter(isHash)) {
          const file = await statIfExists(place(sha256))
          if (file) found.push({ sha256, size: file.size, putAt: file.mtimeMs })
        }
      }
      return found
    },

    async removeIfPutBefore(sha256, before) {
      if (!isHash(sha256)) return false
      await prepare()
      const aside = join(incoming, `${sha256}.${randomBytes(6).toString('hex')}`)
      if (!(await moveAside(place(sha256), aside))) return false
      // Looked at where no put finds it any more: one that came before has made it young, one that comes now writes it anew.
      const isOld = ((await modifiedAt(aside)) ?? before) < before
      if (isOld) await rm(aside, { force: true })
      else await rename(aside, place(sha256))
      return isOld
    },
  }
}

/** A name from outside is a path only if it is a hash. */
const isHash = (sha256: string) => /^[0-9a-f]{64}$/.test(sha256)
const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const isNotFound = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT'

async function makeFolders(folder: string, incoming: string): Promise<void> {
  await mkdir(incoming, { recursive: true, mode: 0o700 })
  await syncFolder(folder)
  await removeOldDrafts(incoming)
}

/** Age is told by comparing files, so that it does not depend on whose clock stamps them. */
async function removeOldDrafts(incoming: string): Promise<void> {
  const hour = 3_600_000
  const times = await Promise.all((await readdir(incoming)).map(async (name) => ({ name, at: await modifiedAt(join(incoming, name)) })))
  const probe = join(incoming, `probe.${randomBytes(6).toString('hex')}`)
  await (await open(probe, 'wx', 0o600)).close()
  const now = await modifiedAt(probe)
  await rm(probe, { force: true })
  for (const { name, at } of times) {
    if (at !== undefined && now !== undefined && now - at > hour) await rm(join(incoming, name), { force: true })
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const sizeOf = async (path: string) => (await statIfExists(path))?.size
const modifiedAt = async (path: string) => (await statIfExists(path))?.mtimeMs

/** Whether the blob is there, whole; it is then as young as if it had just been written. */
async function touchIfWhole(path: string, size: number): Promise<boolean> {
  if ((await sizeOf(path)) !== size) return false
  const now = new Date()
  return succeedsIfExists(utimes(path, now, now))
}

const moveAside = (path: string, aside: string) => succeedsIfExists(rename(path, aside))

async function succeedsIfExists(done: Promise<void>): Promise<boolean> {
  try {
    await done
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

async function listFolder(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

async function statIfExists(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

async function readIfExists(path: string): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await readFile(path))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
