import { constants as flags, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises'
import { errorCode } from './error-code.ts'
import type { OpenFolder } from './open.ts'
import { tooLarge, unsafeFile } from './safe-paths.ts'

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
