import { chmodSync, closeSync, constants as flags, fstatSync, lchownSync, lstatSync, opendirSync, openSync, type Stats } from 'node:fs'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Identity } from './identity.ts'

/*
 * Visits the folders of a program, even while the program changes them. Each folder is opened without following links, and its entries are
 * reached through the open folder (`/proc/self/fd`). So a program can not make a visit leave its folders, and paths never get too long.
 *
 * The calls are synchronous, because there may be thousands of them and each is short. Every few milliseconds a visit pauses, so that other
 * work of this process can run.
 */

/** The flag that opens an entry without reading it. Node has no name for it. It has the same value on all systems that have a sandbox. */
const pathOnly = 0o10000000
const folderFlags = flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW | flags.O_NONBLOCK

/** If a program nests folders deeper than this, it is ended. The limit is needed because each level of a visit keeps a folder open. */
export const maxDepth = 128
/** How deep the folders are visited after the run. A program can exceed `maxDepth` in the moment before it is ended. */
const reclaimDepth = 1_000

/** Numbers of files and bytes in the folders of a program. */
export interface FolderTotals {
  readonly bytes: number
  readonly entries: number
  /** The size of the largest file. */
  readonly largest: number
  /** False if there were more entries than the visit was allowed to read, or if folders were nested too deep. */
  readonly complete: boolean
}

/** The sum of two folders. */
export const addTotals = (a: FolderTotals, b: FolderTotals): FolderTotals => ({
  bytes: a.bytes + b.bytes,
  entries: a.entries + b.entries,
  largest: Math.max(a.largest, b.largest),
  complete: a.complete && b.complete,
})

type Visit = (path: Buffer, stats: Stats) => void

const sliceMs = 4

/**
 * Adds up the files below a folder and calls `visit` for each entry and for the folder itself. The entry `skip` of the folder is left out.
 * A file with several names is counted once. The size of a file is its length or the space that it takes on disk, whichever is greater,
 * because a file may have holes.
 */
export async function walkFolder(
  root: string,
  { maxEntries = Number.POSITIVE_INFINITY, depthLimit = maxDepth, skip = '', visit = (() => {}) as Visit } = {},
): Promise<FolderTotals> {
  const seen = new Set<number>()
  let bytes = 0
  let entries = 0
  let largest = 0
  let complete = true
  let sliceStart = performance.now()

  function addEntry(path: Buffer, stats: Stats): void {
    entries += 1
    if (stats.nlink === 1 || stats.isDirectory() || !seen.has(stats.ino)) bytes += Math.max(stats.size, stats.blocks * 512)
    if (stats.nlink > 1) seen.add(stats.ino)
    if (stats.isFile()) largest = Math.max(largest, stats.size)
    visit(path, stats)
  }

  async function walk(folder: Buffer, depth: number): Promise<void> {
    if (depth > depthLimit) complete = false
    const fd = depth > depthLimit ? undefined : openFolder(folder)
    if (fd === undefined) return
    const prefix = `/proc/self/fd/${fd}/`
    const names = opendirSync(prefix, { encoding: 'latin1', bufferSize: 256 }) // latin1 keeps names that are not valid UTF-8
    try {
      for (let entry = names.readSync(); entry && complete; entry = names.readSync()) {
        if (depth === 0 && entry.name === skip) continue
        const path = Buffer.from(prefix + entry.name, 'latin1')
        const stats = lstatSync(path, { throwIfNoEntry: false })
        if (!stats) continue
        addEntry(path, stats)
        if (entries > maxEntries) complete = false
        else if (stats.isDirectory()) await walk(path, depth + 1)
        if (performance.now() - sliceStart < sliceMs) continue
        await nextTick()
        sliceStart = performance.now()
      }
    } finally {
      names.closeSync()
      closeSync(fd)
    }
  }

  const path = Buffer.from(root)
  visit(path, lstatSync(path))
  await walk(path, 0)
  return { bytes, entries, largest, complete }
}

/**
 * Opens a folder. If a program has taken away the right to read it, the right is restored. Undefined if a program has replaced the folder
 * by something else.
 */
function openFolder(path: Buffer): number | undefined {
  const opened = orUndefined(() => openSync(path, folderFlags))
  if (opened !== undefined) return opened
  changeMode(path, (mode) => mode | 0o700)
  return orUndefined(() => openSync(path, folderFlags))
}

/** Changes the permissions of a file or folder, without following a link. */
function changeMode(path: Buffer, change: (mode: number) => number): void {
  const fd = orUndefined(() => openSync(path, pathOnly | flags.O_NOFOLLOW))
  if (fd === undefined) return
  try {
    const stats = fstatSync(fd)
    if (stats.isFile() || stats.isDirectory()) orUndefined(() => chmodSync(`/proc/self/fd/${fd}`, change(stats.mode & 0o7777)))
  } finally {
    closeSync(fd)
  }
}

/**
 * Makes a user the owner of a folder and of all its entries. A file with several names keeps its owner, because it may also be in another
 * folder.
 */
export function giveFolder(root: string, user: Identity): Promise<FolderTotals> {
  return walkFolder(root, { visit: (path, stats) => changeOwner(path, stats, user) })
}

/**
 * Makes a user the owner of those entries that only their owner can read. Returns the number of these entries. `skip` is an entry of the
 * folder to leave out.
 */
export async function lendReadOnly(root: string, skip: string, user: Identity): Promise<number> {
  let lent = 0
  const visit = (path: Buffer, stats: Stats) => {
    const needed = stats.isDirectory() ? 0o005 : 0o004
    if (stats.isSymbolicLink() || (stats.mode & needed) === needed) return
    lent += 1
    changeOwner(path, stats, user)
  }
  await walkFolder(root, { skip, visit })
  return lent
}

function changeOwner(path: Buffer, stats: Stats, { uid, gid }: Identity): void {
  if (stats.uid !== uid && (stats.isDirectory() || stats.nlink === 1)) orUndefined(() => lchownSync(path, uid, gid))
}

/**
 * Turns the files that a program left into ordinary files of this process. They become readable for their owner, and lose the bits that let
 * a file run as its owner. If `owner` is given, they belong to it.
 */
export function reclaimFolder(root: string, owner: Identity | undefined): Promise<FolderTotals> {
  return walkFolder(root, {
    depthLimit: reclaimDepth,
    visit: (path, stats) => {
      if (owner && stats.uid !== owner.uid) orUndefined(() => lchownSync(path, owner.uid, owner.gid))
      const needed = stats.isDirectory() ? 0o700 : 0o600
      const special = stats.mode & (stats.isDirectory() ? 0o4000 : 0o6000)
      if ((stats.isFile() || stats.isDirectory()) && (special !== 0 || (stats.mode & needed) !== needed))
        changeMode(path, (mode) => (mode & ~special) | needed)
    },
  })
}

/**
 * The result of the operation. Undefined if the entry was removed or replaced, because programs change their folders while the folders are
 * visited.
 */
function orUndefined<Result>(operation: () => Result): Result | undefined {
  try {
    return operation()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'EOPNOTSUPP', 'ENXIO'].includes(code)) return undefined
    throw error
  }
}
