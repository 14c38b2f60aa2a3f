import type { Dirent } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { Failure } from '../../core/failure.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { FileInfo, Listing, ListOptions } from '../../ports/files.ts'
import { errorCode, isReadOnly, type OpenFolder, openSubfolder, walk } from './open.ts'
import { privateFolder } from './safe-paths.ts'

/** The maximum number of entries that a listing reads, because a program may create millions of files. A longer listing is truncated. */
const maxEntries = 200_000

/** A subfolder without `info`, or a file with `info`. */
interface FolderEntry {
  readonly name: string
  readonly info?: FileInfo
}

/**
 * Lists files in the order of their paths. It visits subfolders where they stand in this order. Only one folder is open at a time, so that
 * a deep tree does not use up file handles.
 */
export async function listFiles(root: OpenFolder, segments: readonly string[], options: ListOptions): Promise<Listing> {
  const { limit = Number.POSITIVE_INFINITY, dotEntries = false } = options
  const files: FileInfo[] = []
  let seen = 0
  let isFull = false // whether a file was found after `limit` files

  async function visit(folder: readonly string[]): Promise<void> {
    for (const { name, info } of await entriesOf(folder)) {
      if (isFull) return
      if (!info) await visitSubfolder([...folder, name])
      else if (files.length < limit) files.push(info)
      else isFull = true
    }
  }

  /** Visits a subfolder. Skips a folder that was removed, replaced by a link, or can not be read. */
  async function visitSubfolder(folder: readonly string[]): Promise<void> {
    try {
      await visit(folder)
    } catch (error) {
      const isUnsafe = error instanceof Failure && error.code === 'file.unsafe'
      if (!isUnsafe && !['EACCES', 'EPERM', 'ENOENT'].includes(errorCode(error) ?? '')) throw error
    }
  }

  async function entriesOf(path: readonly string[]): Promise<readonly FolderEntry[]> {
    const folder = await walk(root, path, (parent, name) => openSubfolder(parent, name, path.join('/')))
    if (!folder) return []
    try {
      const entries: Dirent[] = []
      for await (const entry of await opendir(folder.inside(''))) {
        if (seen++ >= maxEntries) break
        if ((entry.isFile() || entry.isDirectory()) && isListed([...path, entry.name], dotEntries)) entries.push(entry)
      }
      entries.sort((a, b) => compare(sortKey(a), sortKey(b)))
      return await describeAll(folder, path, entries, limit - files.length + 1)
    } finally {
      if (folder !== root) await folder.close()
    }
  }

  await visit(segments)
  return { files, truncated: isFull || seen > maxEntries }
}

/** Reads the info of the entries in order. Stops after `maxFiles` files, because the caller would not use more files of this folder. */
async function describeAll(
  folder: OpenFolder,
  path: readonly string[],
  entries: readonly Dirent[],
  maxFiles: number,
): Promise<readonly FolderEntry[]> {
  const described: FolderEntry[] = []
  let files = 0
  for (const entry of entries) {
    if (files >= maxFiles) break
    if (entry.isDirectory()) described.push({ name: entry.name })
    else {
      const info = await fileInfoOf(folder, entry.name, [...path, entry.name].join('/'))
      if (!info) continue
      described.push({ name: entry.name, info })
      files += 1
    }
  }
  return described
}

async function fileInfoOf(folder: OpenFolder, name: string, path: string): Promise<FileInfo | undefined> {
  try {
    const stats = await lstat(folder.inside(name))
    return stats.isFile() && stats.nlink === 1 ? { path, size: stats.size, readOnly: isReadOnly(stats) } : undefined
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function isListed(path: readonly string[], dotEntries: boolean): boolean {
  const isPrivate = path.length === 1 && path[0]?.toLowerCase() === privateFolder
  return !isPrivate && (dotEntries || !path.at(-1)?.startsWith('.')) && unsafeReason(path.join('/')) === undefined
}

/** The text by which an entry is sorted. A folder gets a slash at its end, so that it has the position of the paths inside it. */
const sortKey = (entry: Dirent) => (entry.isDirectory() ? `${entry.name}/` : entry.name)
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
