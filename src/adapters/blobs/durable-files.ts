import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'

/*
 * Operations on the files of a blob store. If a file is missing, functions such as `sizeOf` and `moveAside` do not throw. They return
 * undefined or false.
 */

export const isNotFound = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT'

export async function makeFolders(folder: string, incoming: string, checkFolder: () => Promise<void>): Promise<void> {
  await checkFolder()
  await mkdir(incoming, { recursive: true, mode: 0o700 })
  await checkFolder()
  await syncFolder(folder)
  await removeOldDrafts(incoming)
}

/**
 * Removes drafts older than an hour. A draft is a file in `incoming` to which a blob is being written. The current time is the modification
 * time of a new file, because the clock of the file system may differ from the clock of the process.
 */
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

export async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Identifies a folder. Another folder with the same name has another identity. Undefined when the folder does not exist. */
export async function identityOf(path: string): Promise<string | undefined> {
  const found = await statIfExists(path)
  return found && `${found.dev}:${found.ino}`
}

export const sizeOf = async (path: string) => (await statIfExists(path))?.size
export const modifiedAt = async (path: string) => (await statIfExists(path))?.mtimeMs

/**
 * Whether a file of this size exists. If so, its modification time is set to now. The modification time tells when the blob was last put. A
 * cleanup of old blobs checks this time, so it does not remove a blob that was just put again.
 */
export async function touchIfWhole(path: string, size: number): Promise<boolean> {
  if ((await sizeOf(path)) !== size) return false
  const now = new Date()
  return succeedsIfExists(utimes(path, now, now))
}

export const moveAside = (path: string, aside: string) => succeedsIfExists(rename(path, aside))

/** Waits for an operation on a file. Returns false when the operation fails because the file does not exist. */
async function succeedsIfExists(work: Promise<void>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

export async function listFolder(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

export async function statIfExists(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

export async function openIfExists(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

export async function readIfExists(path: string): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await readFile(path))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
