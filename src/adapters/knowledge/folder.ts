import { constants, type Dirent } from 'node:fs'
import { lstat, open, opendir, realpath } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorMessage } from '../../core/failure.ts'
import { isId, unsafeReason } from '../../core/path/safety.ts'
import type { FolderList } from '../../ports/skills.ts'

/** A file below a folder, as a listing shows it. `path` is relative to the folder. */
export interface FolderFile {
  readonly path: string
  readonly size: number
  /** The time of the last change, in nanoseconds. */
  readonly mtime: string
}

/** An entry that is left out, and why. The reason is the end of a sentence whose subject is the path. */
export interface LeftOut {
  readonly path: string
  readonly problem: string
}

export interface FolderListing {
  readonly files: readonly FolderFile[]
  readonly leftOut: readonly LeftOut[]
}

const maxListedFiles = 50_000
const maxDepth = 32
/** At most this many of the left-out files are listed. */
const maxLeftOut = 1_000

/** A folder of documents. Its documents have paths such as `ks:<name>/guide.md`. */
export interface KnowledgeFolder {
  readonly name: string
  readonly path: string
  /** A folder whose files are never documents, such as the data folder with the conversations of all users. */
  readonly excluded?: string
}

/**
 * The folders of a list, with names for paths. The name of a folder is the last part of its path, unless a name is given before the path:
 * `handbook=./docs`. Throws a `RangeError` when two folders have the same name, or a name can not be part of a path.
 */
export function namedFolders(list: FolderList): readonly KnowledgeFolder[] {
  const folders = list.map((entry): KnowledgeFolder => {
    const text = entry instanceof URL ? fileURLToPath(entry) : entry
    const mark = text.indexOf('=')
    const isNamed = mark > 0 && isId(text.slice(0, mark))
    const path = resolve(isNamed ? text.slice(mark + 1) : text)
    return { name: isNamed ? text.slice(0, mark) : basename(path).normalize('NFC'), path }
  })
  for (const [index, { name, path }] of folders.entries()) {
    const other = folders.slice(0, index).find((folder) => folder.name === name)
    if (other) throw new RangeError(`${other.path} and ${path} have the same name: give one of them another, such as other=${path}`)
    if (unsafeReason(name) !== undefined || name.includes('#'))
      throw new RangeError(`${path} has no usable name: give it one, such as documents=${path}`)
  }
  return folders
}

/**
 * Whether a path below a folder may be a document. Files and folders whose name begins with a dot are no documents, because they often
 * contain settings and secrets. Installed packages and the excluded folder contain no documents either.
 */
export async function mayHoldDocuments({ path: folder, excluded }: KnowledgeFolder, path: string): Promise<boolean> {
  if (path.split('/').some((name) => name.startsWith('.') || name === 'node_modules')) return false
  if (excluded === undefined) return true
  const root = await realpath(excluded).catch(() => resolve(excluded)) // if the excluded folder does not exist yet
  const below = relative(root, join(await realpath(folder), path))
  return below.startsWith('..') || isAbsolute(below)
}

/**
 * Lists the files that may be documents. Symbolic links are not followed. Throws when the folder itself can not be read.
 */
export async function listFolder(folder: KnowledgeFolder, { maxFiles = maxListedFiles } = {}): Promise<FolderListing> {
  const root = await realpath(folder.path)
  const files: FolderFile[] = []
  const leftOut: LeftOut[] = []
  let more = 0
  let isFull = false
  const skip = (path: string, problem: string) => {
    if (leftOut.length < maxLeftOut) leftOut.push({ path, problem })
    else more++
  }

  async function visit(path: string, depth: number): Promise<void> {
    const entries: Dirent[] = []
    for await (const entry of await opendir(join(root, path))) if (!entry.name.startsWith('.')) entries.push(entry)
    entries.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      const below = path === '' ? entry.name : `${path}/${entry.name}`
      isFull ||= files.length >= maxFiles
      if (isFull) return
      const reason = unsafeReason(below)
      if (await hasOtherName(below)) skip(below, 'has a name that is not UTF-8')
      else if (entry.isSymbolicLink()) skip(below, 'is a symbolic link, which is not followed')
      else if (reason !== undefined) skip(below, `can not be named in a path: it ${reason}`)
      else if (entry.isDirectory()) {
        if (!(await mayHoldDocuments(folder, below))) continue
        if (depth >= maxDepth) skip(below, `is more than ${maxDepth} folders deep`)
        else await visit(below, depth + 1).catch((error: unknown) => skip(below, `can not be read: ${errorMessage(error)}`))
      } else if (entry.isFile()) await describe(below)
      else skip(below, 'is not a file')
    }
  }

  /** Node replaces bytes of a name that are not UTF-8 by U+FFFD. The folder then has no entry with the name that Node returns. */
  const hasOtherName = async (path: string) => path.includes('\ufffd') && (await lstat(join(root, path)).catch(ignoreMissing)) === undefined

  async function describe(path: string): Promise<void> {
    const stats = await lstat(join(root, path), { bigint: true }).catch(ignoreMissing)
    if (stats?.isFile()) files.push({ path, size: Number(stats.size), mtime: String(stats.mtimeNs) })
  }

  await visit('', 0)
  if (isFull) skip('', `has more than ${maxFiles} files, and the others are left out`)
  if (more > 0) leftOut.push({ path: '', problem: `has ${more} more files that are left out` })
  return { files, leftOut }
}

/**
 * The state of one file. Undefined when there is no such file, when it can not be a document, or when it is a link or leads out of the
 * folder.
 */
export async function fileAt(folder: KnowledgeFolder, path: string): Promise<FolderFile | undefined> {
  const root = await realpath(folder.path)
  if (!(await mayHoldDocuments(folder, path))) return undefined
  const stats = await lstat(join(root, path), { bigint: true }).catch(ignoreMissing)
  if (!stats?.isFile() || (await realpath(join(root, path))) !== join(root, path)) return undefined
  return { path, size: Number(stats.size), mtime: String(stats.mtimeNs) }
}

/**
 * The bytes of a file. Undefined when there is no such file. After opening, two checks are made: the opened file is the file at this path,
 * and neither the file nor one of its folders is a link.
 */
export async function readFileBelow(folder: string, path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  const root = await realpath(folder)
  const file = join(root, path)
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(ignoreMissing)
  if (handle === undefined) return undefined
  try {
    const stats = await handle.stat()
    const place = await lstat(await realpath(file))
    if (!stats.isFile() || (await realpath(file)) !== file || place.ino !== stats.ino || place.dev !== stats.dev) return undefined
    if (stats.size > maxBytes) return undefined
    const bytes = new Uint8Array(stats.size)
    let size = 0
    while (size < bytes.length) {
      const { bytesRead } = await handle.read(bytes, size, bytes.length - size, size)
      if (bytesRead === 0) break // the file has become shorter
      size += bytesRead
    }
    return bytes.subarray(0, size)
  } finally {
    await handle.close()
  }
}

/**
 * Returns undefined for an error that means that a file has disappeared between two steps, or that a link is in its place. Throws other
 * errors.
 */
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(error.code ?? '')) return undefined
  throw error
}
