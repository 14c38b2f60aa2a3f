import { type Dirent, opendirSync } from 'node:fs'
import { setImmediate as otherWork } from 'node:timers/promises'
import { Failure } from '../../core/failure.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { FileInfo, Listing, ListOptions, SkippedEntry, UnsafeFileReason } from '../../ports/files.ts'
import { errorCode, isReadOnly, lstatIfExists, type OpenFolder, openSubfolder, walk } from './open.ts'
import { privateFolder } from './safe-paths.ts'

/** The maximum number of entries that a listing reads, because a program may create millions of files. A longer listing is truncated. */
const maxEntries = 200_000

/** The maximum number of skipped entries that a listing returns. Further skipped entries are left out. */
const maxSkipped = 1_000

/**
 * The number of levels between two folders that stay open while their subfolders are visited. The folders in between are closed. A closed
 * folder is opened again by its name, starting at the nearest open folder above it.
 */
const levelsBetweenOpenFolders = 16

/** After this many milliseconds, a listing pauses, so that other work of this process can run. */
const sliceMs = 4

/** A subfolder, or a file. A file that was not examined has no `info`. */
type FolderEntry =
  | { readonly kind: 'folder'; readonly name: string }
  | { readonly kind: 'file'; readonly name: string; readonly info?: FileInfo }

/**
 * Lists files in the order of their paths. It visits a subfolder when this order reaches the subfolder. Of the folders above the current
 * folder, one in every `levelsBetweenOpenFolders` levels is open. So a deep tree does not use up file handles, and a closed folder can be
 * opened again in a few steps.
 */
export async function listFiles(root: OpenFolder, segments: readonly string[], options: ListOptions): Promise<Listing> {
  const { limit = Number.POSITIVE_INFINITY, dotEntries = false } = options
  const files: FileInfo[] = []
  const skipped: SkippedEntry[] = []
  let seen = 0
  let isFull = false // whether a file was found after `limit` files
  let sliceStart = performance.now()

  async function pauseIfLong(): Promise<void> {
    if (performance.now() - sliceStart < sliceMs) return
    await otherWork()
    sliceStart = performance.now()
  }

  /**
   * Visits the folder at `path`. `from` is an open folder above it, and `way` has the names that lead from `from` to the folder at `path`.
   */
  async function visit(from: OpenFolder, way: readonly string[], path: readonly string[]): Promise<void> {
    const folder = await walk(from, way, (parent, name) => openSubfolder(parent, name, path.join('/')))
    if (!folder) return
    let isOpen = folder !== from
    const close = () => {
      if (isOpen) folder.close()
      isOpen = false
    }
    try {
      const entries = await entriesOf(folder, path)
      const staysOpen = way.length >= levelsBetweenOpenFolders
      if (!staysOpen) close()
      for (const entry of entries) {
        if (isFull && limit > 0) return
        const below = [...path, entry.name]
        if (entry.kind === 'folder') await visitSubfolder(staysOpen ? folder : from, staysOpen ? [entry.name] : [...way, entry.name], below)
        else if (entry.info && files.length < limit) files.push(entry.info)
        else isFull = true
      }
    } finally {
      close()
    }
  }

  function skip(path: readonly string[], reason: UnsafeFileReason): void {
    if (skipped.length < maxSkipped) skipped.push({ path: path.join('/'), reason })
  }

  /** Visits a subfolder. Skips a folder that was replaced by a link or can not be read. */
  async function visitSubfolder(from: OpenFolder, way: readonly string[], path: readonly string[]): Promise<void> {
    try {
      await visit(from, way, path)
    } catch (error) {
      const reason = skipReason(error)
      if (reason) skip(path, reason)
      else if (errorCode(error) !== 'ENOENT') throw error // ENOENT: a program has removed the folder meanwhile
    }
  }

  async function entriesOf(folder: OpenFolder, path: readonly string[]): Promise<readonly FolderEntry[]> {
    const entries: Dirent[] = []
    const open = opendirSync(folder.inside(''), { bufferSize: 256 })
    try {
      for (let entry = open.readSync(); entry && seen++ < maxEntries; entry = open.readSync()) {
        await pauseIfLong()
        const at = [...path, entry.name]
        if (isHidden(at, dotEntries)) continue
        const reason = entryReason(entry, at)
        if (reason) skip(at, reason)
        else entries.push(entry)
      }
    } finally {
      open.closeSync()
    }
    entries.sort((a, b) => compare(sortKey(a), sortKey(b)))
    return limit === 0 ? entries.map(kindOf) : await describeAll(folder, path, entries)
  }

  /** Reads the info of the entries in order. Stops when the listing is full. */
  async function describeAll(folder: OpenFolder, path: readonly string[], entries: readonly Dirent[]): Promise<readonly FolderEntry[]> {
    const described: FolderEntry[] = []
    let left = limit - files.length + 1
    for (const entry of entries) {
      if (left <= 0) break
      await pauseIfLong()
      const at = [...path, entry.name]
      const found = entry.isDirectory() ? 'folder' : fileInfoOf(folder, entry.name, at.join('/'))
      if (found === 'folder') described.push(kindOf(entry))
      else if (typeof found === 'string') skip(at, found)
      else if (found) {
        described.push({ kind: 'file', name: entry.name, info: found })
        left -= 1
      }
    }
    return described
  }

  await visit(root, segments, segments)
  skipped.sort((a, b) => compare(a.path, b.path))
  return { files, truncated: isFull || seen > maxEntries, skipped }
}

const kindOf = (entry: Dirent): FolderEntry => ({ kind: entry.isDirectory() ? 'folder' : 'file', name: entry.name })

/** The info of a file, or the reason why it is skipped. Undefined when the file was removed meanwhile. */
function fileInfoOf(folder: OpenFolder, name: string, path: string): FileInfo | UnsafeFileReason | undefined {
  const stats = lstatIfExists(folder.inside(name))
  if (!stats) return undefined
  if (!stats.isFile()) return stats.isSymbolicLink() ? 'symlink_blocked' : 'not_a_file'
  return stats.nlink === 1 ? { path, size: stats.size, readOnly: isReadOnly(stats) } : 'hard_link_blocked'
}

/** Why a folder is skipped. Undefined when the error has another cause. */
function skipReason(error: unknown): UnsafeFileReason | undefined {
  if (error instanceof Failure && error.code === 'file.unsafe') return error.details.reason as UnsafeFileReason
  return ['EACCES', 'EPERM'].includes(errorCode(error) ?? '') ? 'no_access' : undefined
}

/** Why an entry is skipped because of its name or its type. Undefined if name and type are allowed. */
function entryReason(entry: Dirent, path: readonly string[]): UnsafeFileReason | undefined {
  if (unsafeReason(path.join('/')) !== undefined) return 'unsafe_path'
  if (entry.isSymbolicLink()) return 'symlink_blocked'
  return entry.isFile() || entry.isDirectory() ? undefined : 'not_a_file'
}

function isHidden(path: readonly string[], dotEntries: boolean): boolean {
  const isPrivate = path.length === 1 && path[0]?.toLowerCase() === privateFolder
  return isPrivate || (!dotEntries && path.at(-1)?.startsWith('.') === true)
}

/** The text by which an entry is sorted. A folder gets a slash at its end, so that it has the position of the paths inside it. */
const sortKey = (entry: Dirent) => (entry.isDirectory() ? `${entry.name}/` : entry.name)
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
