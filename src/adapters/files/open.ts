import { existsSync, constants as flags, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { tooLarge, unsafeFile } from './safe-paths.ts'

/**
 * A folder held open. `inside` addresses an entry of this very folder, whatever happens to its name meanwhile: on Linux through
 * `/proc/self/fd`, which leads to the open folder and not to a path. So every step of a walk starts at what the step before it opened, and
 * there is no moment between a check and its use.
 *
 * Elsewhere there is no such door. `inside` is a plain path then; the folder's real path was compared with it when it was opened, and the
 * last step never follows a link, but whoever swaps a folder for a link in between is not caught.
 */
export interface OpenFolder {
  readonly path: string
  inside(name: string): string
  sync(): Promise<void>
  close(): Promise<void>
}

const hasProcFd = process.platform === 'linux' && existsSync('/proc/self/fd')
const folderFlags = flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW | flags.O_NONBLOCK

/** The folder that everything else is opened from; made when it is not there. The way to it is trusted. */
export async function openRoot(folder: string): Promise<OpenFolder> {
  await mkdir(folder, { recursive: true })
  const path = await realpath(folder)
  return openFolderAt(path, await open(path, folderFlags))
}

/** Undefined when nothing is there. `of` is what the caller asked for, for the words of a refusal. */
export async function openSubfolder(parent: OpenFolder, name: string, of: string): Promise<OpenFolder | undefined> {
  const path = join(parent.path, name)
  let handle: FileHandle
  try {
    handle = await open(parent.inside(name), folderFlags)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ENOTDIR' || code === 'ELOOP')
      throw unsafeFile((await isLink(parent.inside(name))) ? 'symlink_blocked' : 'not_a_folder', of)
    throw error
  }
  if (hasProcFd || (await realpath(path)) === path) return openFolderAt(path, handle)
  await handle.close()
  throw unsafeFile('symlink_blocked', of)
}

/** The same, and made when nothing is there, durably. */
export async function openOrMakeSubfolder(parent: OpenFolder, name: string, of: string): Promise<OpenFolder> {
  const there = await openSubfolder(parent, name, of)
  if (there) return there
  await mkdir(parent.inside(name)).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error // somebody was faster; what they made is looked at below
  })
  await parent.sync()
  const made = await openSubfolder(parent, name, of)
  if (!made) throw unsafeFile('not_a_folder', of)
  return made
}

/** From the root down to a folder, one step at a time. The root stays open, every other folder on the way is closed again. */
export async function walk(
  root: OpenFolder,
  segments: readonly string[],
  step: (parent: OpenFolder, name: string) => Promise<OpenFolder | undefined>,
): Promise<OpenFolder | undefined> {
  let here: OpenFolder = root
  for (const name of segments) {
    const parent = here
    let next: OpenFolder | undefined
    try {
      next = await step(parent, name)
    } finally {
      if (parent !== root) await parent.close()
    }
    if (!next) return undefined
    here = next
  }
  return here
}

function openFolderAt(path: string, handle: FileHandle): OpenFolder {
  const at = hasProcFd ? `/proc/self/fd/${handle.fd}` : path
  return { path, inside: (name) => (name === '' ? at : `${at}/${name}`), sync: () => handle.sync(), close: () => handle.close() }
}

/** Only to say why it was refused. */
async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch {
    return false // gone again
  }
}

// Not following, and not waiting for the other end of a pipe.
const readFlags = flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK
const draftFlags = flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL | flags.O_NOFOLLOW

/** Opened first, then looked at: what was checked is what is read. Undefined when nothing is there. */
export async function openFile(folder: OpenFolder, name: string, of: string): Promise<{ handle: FileHandle; stats: Stats } | undefined> {
  let handle: FileHandle
  try {
    handle = await open(folder.inside(name), readFlags)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw unsafeFile('symlink_blocked', of)
    if (code === 'ENXIO' || code === 'ENODEV') throw unsafeFile('not_a_file', of) // a socket, a device without a driver
    throw error
  }
  try {
    const stats = await handle.stat()
    checkStats(stats, of)
    return { handle, stats }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** No names at all is fine: it was replaced just after it was opened. */
function checkStats(stats: Stats, of: string): void {
  if (stats.isSymbolicLink()) throw unsafeFile('symlink_blocked', of)
  if (!stats.isFile()) throw unsafeFile('not_a_file', of)
  if (stats.nlink > 1) throw unsafeFile('hard_link_blocked', of)
}

export const isReadOnly = (stats: Stats) => (stats.mode & 0o222) === 0

export async function readBytes(handle: FileHandle, size: number, of: string, maxBytes: number): Promise<Uint8Array> {
  if (size > maxBytes) throw tooLarge(of, maxBytes)
  const bytes = new Uint8Array(size) // what is appended from now on is not read
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, filled)
    if (bytesRead === 0) break // cut short meanwhile
    filled += bytesRead
  }
  return filled === size ? bytes : bytes.slice(0, filled)
}

/** What a name holds may be replaced or removed. Both act on the name and not on what it leads to, so being late here does no harm. */
export async function checkReplaceable(folder: OpenFolder, name: string, of: string): Promise<boolean> {
  const stats = await lstatIfExists(folder.inside(name))
  if (!stats) return false
  checkStats(stats, of)
  if (isReadOnly(stats)) throw unsafeFile('read_only', of)
  return true
}

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

/** Written beside everything, synced, renamed into its place: the name leads to the old bytes or to the new ones. */
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
    await unlink(draft).catch(() => {}) // the next one to open these files removes what is left; the error is what matters
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

/** `ENOENT` and its family; undefined for an error that is not the system's. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
