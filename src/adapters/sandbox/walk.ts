import { constants as flags, type Stats } from 'node:fs'
import { chmod, type FileHandle, lchown, lstat, open, opendir } from 'node:fs/promises'
import type { Identity } from './identity.ts'

/*
 * Visits the folders of a program, also while the program changes them. Each folder is opened without following links, and its entries are
 * reached through the open folder (`/proc/self/fd`). So a program can not lead a visit out of its folders, and paths never get too long.
 */

/** The flag that opens an entry without reading it. Node has no name for it. It has the same value on all systems that have a sandbox. */
const pathOnly = 0o10000000
const folderFlags = flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW | flags.O_NONBLOCK

/** Folders that are nested deeper are not visited. Each level needs an open folder. */
export const maxDepth = 128
const batchSize = 64

/** What the folders of a program have. */
export interface FolderTotals {
  readonly bytes: number
  readonly entries: number
  /** The size of the largest file. */
  readonly largest: number
  /** False if there are more entries than the visit was allowed to read, or folders deeper than `maxDepth`. */
  readonly complete: boolean
}

type Visit = (path: Buffer, stats: Stats) => Promise<void>

/**
 * Adds up the files below a folder and calls `visit` for each entry and for the folder itself. The entry `skip` of the folder is left
 * out. A file with several names counts once. The size of a file is what it occupies or what a reader gets, whichever is greater, because files may have holes.
 */
export async function walkFolder(
  root: string,
  { maxEntries = Number.POSITIVE_INFINITY, skip = '', visit = ignore as Visit } = {},
): Promise<FolderTotals> {
  const seen = new Set<number>()
  let bytes = 0
  let entries = 0
  let largest = 0
  let complete = true

  async function addEntry(path: Buffer, stats: Stats, depth: number): Promise<void> {
    entries += 1
    if (stats.nlink === 1 || stats.isDirectory() || !seen.has(stats.ino)) bytes += Math.max(stats.size, stats.blocks * 512)
    if (stats.nlink > 1) seen.add(stats.ino)
    if (stats.isFile()) largest = Math.max(largest, stats.size)
    await visit(path, stats)
    if (stats.isDirectory()) await walk(path, depth + 1)
  }

  async function walk(folder: Buffer, depth: number): Promise<void> {
    if (depth > maxDepth) complete = false
    const handle = depth > maxDepth ? undefined : await openFolder(folder)
    if (!handle) return
    try {
      const prefix = `/proc/self/fd/${handle.fd}/`
      for await (const names of batches(prefix)) {
        const found = await Promise.all(names.map(async (name) => ({ name, stats: await orUndefined(lstat(inFolder(prefix, name))) })))
        for (const { name, stats } of found) if (stats && (depth > 0 || name !== skip)) await addEntry(inFolder(prefix, name), stats, depth)
        if (entries > maxEntries) complete = false
        if (entries > maxEntries) return
      }
    } finally {
      await handle.close()
    }
  }

  const path = Buffer.from(root)
  await visit(path, await lstat(path))
  await walk(path, 0)
  return { bytes, entries, largest, complete }
}

const ignore = async () => {}
const inFolder = (prefix: string, name: string) => Buffer.from(prefix + name, 'latin1')

/** The names in a folder, in pieces. They are decoded as latin1, which keeps names that are not valid UTF-8. */
async function* batches(folder: string): AsyncGenerator<readonly string[]> {
  let names: string[] = []
  for await (const { name } of await opendir(folder, { encoding: 'latin1', bufferSize: batchSize })) {
    names.push(name)
    if (names.length < batchSize) continue
    yield names
    names = []
  }
  if (names.length > 0) yield names
}

/** Opens a folder. A program may have taken away the right to read it. Then the right is restored. Undefined if it is no folder any more. */
async function openFolder(path: Buffer): Promise<FileHandle | undefined> {
  const opened = await orUndefined(open(path, folderFlags))
  if (opened) return opened
  await addPermissions(path, 0o700)
  return orUndefined(open(path, folderFlags))
}

/** Adds permissions to a file or folder, without following a link. */
async function addPermissions(path: Buffer, permissions: number): Promise<void> {
  await changeMode(path, (mode) => mode | permissions)
}

async function changeMode(path: Buffer, change: (mode: number) => number): Promise<void> {
  const handle = await orUndefined(open(path, pathOnly | flags.O_NOFOLLOW))
  if (!handle) return
  try {
    const stats = await handle.stat()
    if (stats.isFile() || stats.isDirectory()) await orUndefined(chmod(`/proc/self/fd/${handle.fd}`, change(stats.mode & 0o7777)))
  } finally {
    await handle.close()
  }
}

/** Gives a folder and all entries to a user. A file with several names keeps its owner, because it may also be in another folder. */
export async function giveFolder(root: string, user: Identity): Promise<void> {
  await walkFolder(root, { visit: (path, stats) => changeOwner(path, stats, user) })
}

/** Gives to a user those entries that only their owner can read. Returns their number. `skip` is an entry of the folder to leave out. */
export async function lendReadOnly(root: string, skip: string, user: Identity): Promise<number> {
  let lent = 0
  const visit = async (path: Buffer, stats: Stats) => {
    const needed = stats.isDirectory() ? 0o005 : 0o004
    if (stats.isSymbolicLink() || (stats.mode & needed) === needed) return
    lent += 1
    await changeOwner(path, stats, user)
  }
  await walkFolder(root, { skip, visit })
  return lent
}

async function changeOwner(path: Buffer, stats: Stats, { uid, gid }: Identity): Promise<void> {
  if (stats.uid !== uid && (stats.isDirectory() || stats.nlink === 1)) await orUndefined(lchown(path, uid, gid))
}

/**
 * Makes the files that a program left ordinary files of this process: readable for their owner, without the bits that let a file run as its
 * owner, and owned by `owner` if there is one.
 */
export async function reclaimFolder(root: string, owner: Identity | undefined): Promise<FolderTotals> {
  return walkFolder(root, {
    visit: async (path, stats) => {
      if (owner && stats.uid !== owner.uid) await orUndefined(lchown(path, owner.uid, owner.gid))
      const needed = stats.isDirectory() ? 0o700 : 0o600
      const special = stats.mode & (stats.isDirectory() ? 0o4000 : 0o6000)
      if ((stats.isFile() || stats.isDirectory()) && (special !== 0 || (stats.mode & needed) !== needed))
        await changeMode(path, (mode) => (mode & ~special) | needed)
    },
  })
}

/** The result, or undefined if the entry is gone or was replaced: programs change their folders while they are visited. */
async function orUndefined<Result>(operation: Promise<Result>): Promise<Result | undefined> {
  try {
    return await operation
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'EOPNOTSUPP', 'ENXIO'].includes(code)) return undefined
    throw error
  }
}
