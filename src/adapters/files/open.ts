import { existsSync, constants as flags, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { tooLarge, unsafeFile } from './safe-paths.ts'

/*
 * Opens folders and files while hostile programs may change them. In the functions below, `requested` is the path that the caller of the
 * port `Files` asked for. Failures contain this path.
 */

/**
 * A folder with an open handle. On Linux, `inside` returns a path through `/proc/self/fd`. It leads to an entry of exactly this folder,
 * even if a program renames or replaces the folder meanwhile. Each step down a path starts at the folder that the step before opened. So no
 * program can replace a folder between a check and its use.
 *
 * On other systems `inside` returns an ordinary path. The real path of the folder is checked when the folder is opened, and opening a file
 * never follows a link. But if a program replaces the folder by a link after the check, this is not noticed.
 */
export interface OpenFolder {
  readonly path: string
  inside(name: string): string
  sync(): Promise<void>
  close(): Promise<void>
}

const hasProcFd = process.platform === 'linux' && existsSync('/proc/self/fd')

// With these flags, opening never follows a link and never waits until another process opens a pipe.
const folderFlags = flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW | flags.O_NONBLOCK
const readFlags = flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK
const draftFlags = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | flags.O_NOFOLLOW

/**
 * Opens the folder below which all files are, and creates it if it does not exist. Links in the path to this folder are followed, because
 * hostile programs can not change this path.
 */
export async function openRoot(folder: string): Promise<OpenFolder> {
  await mkdir(folder, { recursive: true })
  const path = await realpath(folder)
  return openFolderAt(path, await open(path, folderFlags))
}

/** Opens a subfolder without following links. Undefined when it does not exist. */
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

/** Opens a subfolder. If it does not exist, it is created durably. */
export async function openOrMakeSubfolder(parent: OpenFolder, name: string, requested: string): Promise<OpenFolder> {
  const existing = await openSubfolder(parent, name, requested)
  if (existing) return existing
  await mkdir(parent.inside(name)).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error // EEXIST: another process has created the folder meanwhile
  })
  await parent.sync()
  const made = await openSubfolder(parent, name, requested)
  if (!made) throw unsafeFile('not_a_folder', requested)
  return made
}

/** Opens a folder by opening each folder on the way from the root. Closes all of these except the root and the result. */
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

/**
 * Whether an entry is a symbolic link. The result is used only to choose the reason in an error message. So it does no harm if a program
 * replaces the entry after this check.
 */
async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch {
    return false // the entry was removed meanwhile
  }
}

/** Opens a file, and then checks that the opened entry is an ordinary file. Undefined when the file does not exist. */
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
    if (code === 'ENXIO' || code === 'ENODEV') throw unsafeFile('not_a_file', requested) // a socket or a device
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

/**
 * Throws if the entry is not an ordinary file, or has a second name (a hard link: `nlink` is 2 or more). An opened file with `nlink` 0 is
 * accepted. It has lost its name because another process replaced it after it was opened.
 */
function checkStats(stats: Stats, requested: string): void {
  if (stats.isSymbolicLink()) throw unsafeFile('symlink_blocked', requested)
  if (!stats.isFile()) throw unsafeFile('not_a_file', requested)
  if (stats.nlink > 1) throw unsafeFile('hard_link_blocked', requested)
}

export const isReadOnly = (stats: Stats) => (stats.mode & 0o222) === 0

/** Reads the first `size` bytes of a file. Bytes that another process appends meanwhile are not read. */
export async function readBytes(handle: FileHandle, size: number, requested: string, maxBytes: number): Promise<Uint8Array> {
  if (size > maxBytes) throw tooLarge(requested, maxBytes)
  const bytes = new Uint8Array(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, filled)
    if (bytesRead === 0) break // another process has truncated the file meanwhile
    filled += bytesRead
  }
  return filled === size ? bytes : bytes.slice(0, filled)
}

/**
 * Throws when the entry must not be replaced or removed. Returns false when the entry does not exist. Replacing and removing never follow a
 * link. So even if a program swaps the entry after this check, no file outside of the folder is changed.
 */
export async function checkReplaceable(folder: OpenFolder, name: string, requested: string): Promise<boolean> {
  const stats = await lstatIfExists(folder.inside(name))
  if (!stats) return false
  checkStats(stats, requested)
  if (isReadOnly(stats)) throw unsafeFile('read_only', requested)
  return true
}

/** Creates a file and syncs it to disk. Fails when the name already exists. */
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

/** Writes and syncs a draft, then renames it to `name`. At any moment the file has either the old bytes or the new ones. */
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
    await unlink(draft).catch(() => {}) // if this fails, `recoverSwaps` removes the draft later
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

/** The code of a system error, such as `ENOENT`. Undefined for other errors. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
