import {
  closeSync,
  existsSync,
  fchmodSync,
  constants as flags,
  fstatSync,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  realpathSync,
  renameSync,
  type Stats,
  writeFile,
} from 'node:fs'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { WriteOptions } from '../../ports/files.ts'
import { tooLarge, unsafeFile } from './safe-paths.ts'

/*
 * Opens folders and files while hostile programs may change them. In the functions below, `requested` is the path that the caller of the
 * port `Files` asked for. Failures contain this path.
 *
 * Opening, examining, renaming and closing are synchronous. A synchronous call takes some microseconds. An asynchronous call takes ten
 * times as long, because Node makes it in another thread. Reading, writing and syncing are asynchronous, because they may wait for the
 * disk.
 */

/**
 * A folder with an open handle. On Linux, `inside` returns a path through `/proc/self/fd`. It leads to an entry of exactly this folder,
 * even if a program renames or replaces the folder meanwhile. Each step down a path starts at the folder that the step before opened. So no
 * program can replace a folder between a check and its use.
 *
 * On other systems `inside` returns an ordinary path. The real path of the folder is checked when the folder is opened, and opening a file
 * never follows a link. But if a program replaces the folder by a link after the check, Daybook does not notice it.
 */
export interface OpenFolder {
  readonly path: string
  inside(name: string): string
  sync(): Promise<void>
  close(): void
}

const hasProcFd = process.platform === 'linux' && existsSync('/proc/self/fd')

const [readInto, writeAll, syncFd] = [promisify(read), promisify(writeFile), promisify(fsync)]

// Flags for opening. Except with `rootFlags`, opening never follows a link, and opening a pipe never waits until another process opens it.
const rootFlags = flags.O_RDONLY | flags.O_DIRECTORY
const folderFlags = rootFlags | flags.O_NOFOLLOW | flags.O_NONBLOCK
const readFlags = flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK
const draftFlags = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | flags.O_NOFOLLOW

/**
 * Opens the folder below which all files are, and creates it if it does not exist. Links in the path to this folder are followed, because
 * hostile programs can not change this path.
 */
export function openRoot(folder: string): OpenFolder {
  const openIt = () => {
    const path = hasProcFd ? folder : realpathSync(folder)
    return openFolderAt(path, openSync(path, rootFlags))
  }
  try {
    return openIt()
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    mkdirSync(folder, { recursive: true })
    return openIt()
  }
}

/** Opens a subfolder without following links. Undefined when it does not exist. */
export function openSubfolder(parent: OpenFolder, name: string, requested: string): OpenFolder | undefined {
  const path = join(parent.path, name)
  let fd: number
  try {
    fd = openSync(parent.inside(name), folderFlags)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ENOTDIR' || code === 'ELOOP')
      throw unsafeFile(isLink(parent.inside(name)) ? 'symlink_blocked' : 'not_a_folder', requested)
    throw error
  }
  if (hasProcFd || realpathSync(path) === path) return openFolderAt(path, fd)
  closeSync(fd)
  throw unsafeFile('symlink_blocked', requested)
}

/** Opens a subfolder. If it does not exist, it is created durably. */
export async function openOrMakeSubfolder(parent: OpenFolder, name: string, requested: string): Promise<OpenFolder> {
  const existing = openSubfolder(parent, name, requested)
  if (existing) return existing
  try {
    mkdirSync(parent.inside(name))
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error // EEXIST: another process has created the folder meanwhile
  }
  await parent.sync()
  const made = openSubfolder(parent, name, requested)
  if (!made) throw unsafeFile('not_a_folder', requested)
  return made
}

/** Opens a folder by opening each folder on the way from the root. Closes all of these except the root and the result. */
export async function walk(
  root: OpenFolder,
  segments: readonly string[],
  step: (parent: OpenFolder, name: string) => OpenFolder | undefined | Promise<OpenFolder>,
): Promise<OpenFolder | undefined> {
  let folder: OpenFolder = root
  for (const name of segments) {
    const parent = folder
    let next: OpenFolder | undefined
    try {
      next = await step(parent, name)
    } finally {
      if (parent !== root) parent.close()
    }
    if (!next) return undefined
    folder = next
  }
  return folder
}

function openFolderAt(path: string, fd: number): OpenFolder {
  const address = hasProcFd ? `/proc/self/fd/${fd}` : path
  return { path, inside: (name) => (name === '' ? address : `${address}/${name}`), sync: () => syncFd(fd), close: () => closeSync(fd) }
}

/**
 * Whether an entry is a symbolic link. The result is used only to choose the reason in an error message. So it does no harm if a program
 * replaces the entry after this check.
 */
function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false // the entry was removed meanwhile
  }
}

export interface OpenFile {
  readonly fd: number
  readonly stats: Stats
  close(): void
}

/** Opens a file, and then checks that the opened entry is an ordinary file. Undefined when the file does not exist. */
export function openFile(folder: OpenFolder, name: string, requested: string): OpenFile | undefined {
  let fd: number
  try {
    fd = openSync(folder.inside(name), readFlags)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw unsafeFile('symlink_blocked', requested)
    if (code === 'ENXIO' || code === 'ENODEV') throw unsafeFile('not_a_file', requested) // a socket or a device
    throw error
  }
  try {
    const stats = fstatSync(fd)
    checkStats(stats, requested)
    return { fd, stats, close: () => closeSync(fd) }
  } catch (error) {
    closeSync(fd)
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

/** Reads as many bytes of a file as it had when it was opened. Bytes that another process appends meanwhile are not read. */
export async function readBytes({ fd, stats: { size } }: OpenFile, requested: string, maxBytes: number): Promise<Uint8Array> {
  if (size > maxBytes) throw tooLarge(requested, maxBytes)
  const bytes = new Uint8Array(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await readInto(fd, bytes, filled, size - filled, filled)
    if (bytesRead === 0) break // another process has truncated the file meanwhile
    filled += bytesRead
  }
  return filled === size ? bytes : bytes.slice(0, filled)
}

const PIECE_BYTES = 64 * 1024

/** Reads the same bytes as `readBytes`, in pieces. */
export async function* readPieces({ fd, stats: { size } }: OpenFile, requested: string, maxBytes: number): AsyncGenerator<Uint8Array> {
  if (size > maxBytes) throw tooLarge(requested, maxBytes)
  for (let at = 0; at < size; ) {
    const piece = new Uint8Array(Math.min(PIECE_BYTES, size - at))
    const { bytesRead } = await readInto(fd, piece, 0, piece.length, at)
    if (bytesRead === 0) return // another process has truncated the file meanwhile
    yield piece.subarray(0, bytesRead)
    at += bytesRead
  }
}

/**
 * Throws when the entry must not be replaced or removed. Returns false when the entry does not exist. Replacing and removing never follow a
 * link. So even if a program swaps the entry after this check, no file outside of the folder is changed.
 */
export function checkReplaceable(folder: OpenFolder, name: string, requested: string): boolean {
  const stats = lstatIfExists(folder.inside(name))
  if (!stats) return false
  checkStats(stats, requested)
  if (isReadOnly(stats)) throw unsafeFile('read_only', requested)
  return true
}

/** Creates a file, and syncs it to disk unless `durable` is false. Fails when the name already exists. */
export async function writeNewFile(path: string, bytes: Uint8Array, { readOnly, durable = true }: WriteOptions = {}): Promise<void> {
  const fd = openSync(path, draftFlags, 0o644)
  try {
    await writeAll(fd, bytes)
    if (readOnly) fchmodSync(fd, 0o444)
    if (durable) await syncFd(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * Writes a draft, and syncs it if it must be durable. Then renames it to `name`. At any moment the file has either the old bytes or the new
 * ones.
 */
export async function writeAtomically(
  draft: string,
  bytes: Uint8Array,
  options: WriteOptions,
  folder: OpenFolder,
  name: string,
): Promise<void> {
  try {
    await writeNewFile(draft, bytes, options)
    renameSync(draft, folder.inside(name))
  } catch (error) {
    await unlink(draft).catch(() => {}) // if this fails, `recoverSwaps` removes the draft later
    throw error
  }
  if (options.durable ?? true) await folder.sync()
}

export const lstatIfExists = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

/** The code of a system error, such as `ENOENT`. Undefined for other errors. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
