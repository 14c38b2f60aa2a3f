import type { Dirent } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { Failure } from '../../core/failure.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { FileInfo, Listing, ListOptions } from '../../ports/files.ts'
import { errorCode, isReadOnly, type OpenFolder, openSubfolder, walk } from './open.ts'
import { privateFolder } from './safe-paths.ts'

/** Somebody may have made millions: no more than this are looked at, and then there was more. */
const maxEntries = 200_000

interface FolderEntry {
  readonly name: string
  readonly folder: boolean
  readonly info?: FileInfo
}

/** Depth first, each folder's entries in the order of their paths. One folder is open at a time, so that depth costs no handles. */
export async function listFiles(root: OpenFolder, segments: readonly string[], options: ListOptions): Promise<Listing> {
  const { limit = Number.POSITIVE_INFINITY, dotEntries = false } = options
  const files: FileInfo[] = []
  let looked = 0
  let full = false // there was one more than the limit

  async function visit(folder: readonly string[], of: string): Promise<void> {
    const found = await entriesOf(folder, of)
    for (const { name, folder: inside, info } of found) {
      if (full) return
      if (info && files.length >= limit) full = true
      else if (info) files.push(info)
      else if (inside) await visitBelow([...folder, name])
    }
  }

  /** What has become a link or has been closed since it was seen is passed over, like everything else that is not a plain folder. */
  async function visitBelow(folder: readonly string[]): Promise<void> {
    try {
      await visit(folder, folder.join('/'))
    } catch (error) {
      const refused = error instanceof Failure && error.code === 'file.unsafe'
      if (!refused && !['EACCES', 'EPERM', 'ENOENT'].includes(errorCode(error) ?? '')) throw error
    }
  }

  async function entriesOf(path: readonly string[], of: string): Promise<readonly FolderEntry[]> {
    const folder = await walk(root, path, (parent, name) => openSubfolder(parent, name, of))
    if (!folder) return []
    try {
      const entries: Dirent[] = []
      for await (const entry of await opendir(folder.inside(''))) {
        if (looked++ >= maxEntries) break
        if ((entry.isFile() || entry.isDirectory()) && isListed([...path, entry.name], dotEntries)) entries.push(entry)
      }
      entries.sort((a, b) => compare(sortKey(a), sortKey(b)))
      return await describeAll(folder, path, entries, limit - files.length + 1)
    } finally {
      if (folder !== root) await folder.close()
    }
  }

  await visit(segments, segments.join('/'))
  return { files, truncated: full || looked > maxEntries }
}

/** Only as many files as can still be listed are looked at closely. */
async function describeAll(
  folder: OpenFolder,
  path: readonly string[],
  entries: readonly Dirent[],
  most: number,
): Promise<readonly FolderEntry[]> {
  const found: FolderEntry[] = []
  let described = 0
  for (const entry of entries) {
    if (described >= most) break
    if (entry.isDirectory()) found.push({ name: entry.name, folder: true })
    else {
      const info = await fileInfoOf(folder, entry.name, [...path, entry.name].join('/'))
      if (!info) continue
      found.push({ name: entry.name, folder: false, info })
      described++
    }
  }
  return found
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

/** A folder stands where the paths inside it do. */
const sortKey = (entry: Dirent) => (entry.isDirectory() ? `${entry.name}/` : entry.name)
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
