import { existsSync, constants as flags, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { tooLarge, unsafeFile } from './safe-paths.ts'

/*
 * Opens folders and files that hostile programs may change at any moment. In the functions below, `requested` is the path that the
 * caller of the port asked for. Failures contain that path.
 */

/**
 * A folder that is held open. On Linux, `inside` addresses an entry of exactly this folder through `/proc/self/fd`, whatever happens to
 * the folder's name meanwhile. So every step of a walk starts at the folder that the step before it opened, and no program can swap a
 * folder between a check and its use.
 *
 * On other systems `inside` is a plain path. The folder's real path was compared with it when it was opened, and the last step never
 * follows a link, but a folder that is swapped for a link in between goes unnoticed.
 */
export interface OpenFolder {
  readonly path: string
  inside(name: string): string
  sync(): Promise<void>
  close(): Promise<void>
}

const hasProcFd = process.platform === 'linux' && existsSync('/proc/self/fd')

// With these flags, opening never follows a link and never waits for the other end of a pipe.
const folderFlags = flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW | flags.O_NONBLOCK
const readFlags = flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK
const draftFlags = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | flags.O_NOFOLLOW

/** Opens the folder below which all paths lie, and creates it when it does not exist. The path to it is trusted. */
export async function openRoot(folder: string): Promise<OpenFolder> {
  await mkdir(folder, { recursive: true })
  const path = await realpath(folder)
  return openFolderAt(path, await open(path, folderFlags))
}

/** Opens a folder inside an open folder, without following links. Undefined when there is no such folder. */
export async function openSubfolder(parent: OpenFolder, name: string, requested: string): Promise<OpenFolder | undefined> {
  const path = join(parent.path, name)
  let handle: FileHandle
  try {
    handle = await open(parent.inside(name), folderFlags)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ENOTDIR' || code === 'ELOOP')
      throw unsafeFile((await isLink(parent.inside(name))) ? 'symlink_blocked' : 'not_a_folder', requested)
    throw error
  }
  if (hasProcFd || (await realpath(path)) === path) return openFolderAt(path, handle)
  await handle.close()
  throw unsafeFile('symlink_blocked', requested)
}

/** Opens a folder inside an open folder. Creates it durably if it does not exist. */
export async function openOrMakeSubfolder(parent: OpenFolder, name: string, requested: string): Promise<OpenFolder> {
  const existing = await openSubfolder(parent, name, requested)
  if (existing) return existing
  await mkdir(parent.inside(name)).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error // it was created meanwhile
  })
  await parent.sync()
  const made = await openSubfolder(parent, name, requested)
  if (!made) throw unsafeFile('not_a_folder', requested)
  return made
}

/** Goes from the root down to a folder, one step at a time. Closes every folder on the way except the root. */
export async function walk(
  root: OpenFolder,
  segments: readonly string[],
  step: (parent: OpenFolder, name: string) => Promise<OpenFolder | undefined>,
): Promise<OpenFolder | undefined> {
  let folder: OpenFolder = root
  for (const name of segments) {
    const parent = folder
    let next: OpenFolder | undefined
    try {
      next = await step(parent, name)
    } finally {
      if (parent !== root) await parent.close()
    }
    if (!next) return undefined
    folder = next
  }
  return folder
}

function openFolderAt(path: string, handle: FileHandle): OpenFolder {
  const address = hasProcFd ? `/proc/self/fd/${handle.fd}` : path
  return { path, inside: (name) => (name === '' ? address : `${address}/${name}`), sync: () => handle.sync(), close: () => handle.close() }
}

/** Whether an entry is a symbolic link. It only chooses the reason of a failure, so that a change after the check does no harm. */
async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch {
    return false // it was removed meanwhile
  }
}

/** Opens a file, then checks what was opened. Undefined when there is no such file. */
export async function openFile(
  folder: OpenFolder,
  name: string,
  requested: string,
): Promise<{ readonly handle: FileHandle; readonly stats: Stats } | undefined> {
  let handle: FileHandle
  try {
    handle = await open(folder.inside(name), readFlags)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw unsafeFile('symlink_blocked', requested)
    if (code === 'ENXIO' || code === 'ENODEV') throw unsafeFile('not_a_file', requested) // it is a socket or a device
    throw error
  }
  try {
    const stats = await handle.stat()
    checkStats(stats, requested)
    return { handle, stats }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Throws unless the opened entry is a plain file with at most one name. It has no name if it was replaced just after it was opened. */
function checkStats(stats: Stats, requested: string): void {
  if (stats.isSymbolicLink()) throw unsafeFile('symlink_blocked', requested)
  if (!stats.isFile()) throw unsafeFile('not_a_file', requested)
  if (stats.nlink > 1) throw unsafeFile('hard_link_blocked', requested)
}

export const isReadOnly = (stats: Stats) => (stats.mode & 0o222) === 0

/** Reads the first `size` bytes of a file. Bytes that are appended meanwhile are ignored. */
export async function readBytes(handle: FileHandle, size: number, requested: string, maxBytes: number): Promise<Uint8Array> {
  if (size > maxBytes) throw tooLarge(requested, maxBytes)
  const bytes = new Uint8Array(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, filled)
    if (bytesRead === 0) break // the file was truncated meanwhile
    filled += bytesRead
  }
  return filled === size ? bytes : bytes.slice(0, filled)
}

/**
 * Throws when the entry must not be replaced or removed. Returns false when there is no such entry. Replacing and removing act on the name
 * and not on the target of a link, so an entry that is swapped after this check does no harm.
 */
export async function checkReplaceable(folder: OpenFolder, name: string, requested: string): Promise<boolean> {
  const stats = await lstatIfExists(folder.inside(name))
  if (!stats) return false
  checkStats(stats, requested)
  if (isReadOnly(stats)) throw unsafeFile('read_only', requested)
  return true
}

/** Creates a file durably. Fails when the name exists. */
export async function writeNewFile(path: string, bytes: Uint8Array, readOnly: boolean): Promise<void> {
  const file = await open(path, draftFlags, 0o644)
  try {
    await file.writeFile(bytes)
    if (readOnly) await file.chmod(0o444)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Writes and syncs a draft, then renames it. At any moment the file has either the old bytes or the new ones. */
export async function writeAtomically(
  draft: string,
  bytes: Uint8Array,
  readOnly: boolean,
  folder: OpenFolder,
  name: string,
): Promise<void> {
  try {
    await writeNewFile(draft, bytes, readOnly)
    await rename(draft, folder.inside(name))
  } catch (error) {
    await unlink(draft).catch(() => {}) // `recoverSwaps` removes it later
    throw error
  }
  await folder.sync()
}

export async function lstatIfExists(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The code of a system error, such as `ENOENT`; undefined for other errors. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
