import { unlink } from 'node:fs/promises'
import { Failure } from '../../core/failure.ts'
import type { Files } from '../../ports/files.ts'
import { newDraftId } from './drafts.ts'
import { listFiles } from './listing.ts'
import {
  checkReplaceable,
  errorCode,
  isReadOnly,
  type OpenFolder,
  openFile,
  openOrMakeSubfolder,
  openRoot,
  openSubfolder,
  readBytes,
  walk,
  writeAtomically,
} from './open.ts'
import { openPrivateFolder, recoverSwaps, replaceFolder } from './replace-folder.ts'
import { checkContents, defaultMaxBytes, folderSegments, safeSegments, unsafeFile } from './safe-paths.ts'

/**
 * Files below a folder of the disk, into which programs that a model wrote may put anything. Several processes may write files here; one
 * at a time replaces folders, which the claim on a conversation sees to. What a process that died left half done is finished or undone at
 * the first use.
 */
export function createDiskFiles({ folder }: { readonly folder: string }): Files {
  const gate = createFolderLock()
  let recovered: Promise<void> | undefined

  async function atRoot<T>(of: string, work: (root: OpenFolder) => Promise<T>): Promise<T> {
    try {
      recovered ??= recoverOnce().catch((error: unknown) => {
        recovered = undefined // a full or read-only disk may be mended: the next one asks again
        throw error
      })
      await recovered
      return await withOpen(await openRoot(folder), work)
    } catch (error) {
      throw translateError(error, of)
    }
  }

  const recoverOnce = async () => withOpen(await openRoot(folder), recoverSwaps)

  /** Undefined when the folder above is not there. */
  async function inFolderOf<T>(path: string, make: boolean, work: (folder: OpenFolder, name: string, root: OpenFolder) => Promise<T>) {
    const segments = safeSegments(path)
    const step = (parent: OpenFolder, name: string) => (make ? openOrMakeSubfolder : openSubfolder)(parent, name, path)
    return atRoot(path, async (root) => {
      const above = await walk(root, segments.slice(0, -1), step)
      if (!above) return undefined
      const use = (folder: OpenFolder) => work(folder, segments.at(-1) as string, root)
      return above === root ? use(root) : withOpen(above, use)
    })
  }

  return {
    read: (path, { maxBytes = defaultMaxBytes } = {}) =>
      inFolderOf(path, false, async (folder, name) => {
        const file = await openFile(folder, name, path)
        return file && withOpen(file.handle, (handle) => readBytes(handle, file.stats.size, path, maxBytes))
      }),

    stat: (path) =>
      inFolderOf(path, false, async (folder, name) => {
        const file = await openFile(folder, name, path)
        return file && withOpen(file.handle, async () => ({ path, size: file.stats.size, readOnly: isReadOnly(file.stats) }))
      }),

    async write(path, bytes, { readOnly = false } = {}) {
      const mine = Uint8Array.from(bytes) // as it is now, whatever the caller does meanwhile
      await gate.shared(() =>
        inFolderOf(path, true, async (folder, name, root) => {
          await checkReplaceable(folder, name, path)
          await withOpen(await openPrivateFolder(root), (home) =>
            writeAtomically(home.inside(`${newDraftId()}.draft`), mine, readOnly, folder, name),
          )
        }),
      )
    },

    list: async (path, options = {}) => {
      const segments = folderSegments(path)
      return atRoot(path, (root) => listFiles(root, segments, options))
    },

    async remove(path) {
      const removed = await gate.shared(() =>
        inFolderOf(path, false, async (folder, name) => {
          if (!(await checkReplaceable(folder, name, path))) return false
          await unlink(folder.inside(name))
          await folder.sync()
          return true
        }),
      )
      return removed ?? false
    },

    async replaceFolder(path, files, { readOnly = false } = {}) {
      safeSegments(path)
      checkContents(path, files)
      const mine = new Map([...files].map(([name, bytes]) => [name, Uint8Array.from(bytes)]))
      await gate.exclusive(() => atRoot(path, (root) => replaceFolder(root, path, mine, readOnly)))
    },
  }
}

async function withOpen<H extends { close(): Promise<void> }, T>(handle: H, work: (handle: H) => Promise<T>): Promise<T> {
  try {
    return await work(handle)
  } finally {
    await handle.close()
  }
}

/** The system's own words hold an absolute path: only its code is told. */
function translateError(error: unknown, of: string): unknown {
  const code = errorCode(error)
  if (error instanceof Failure || code === undefined) return error
  if (code === 'EACCES' || code === 'EPERM') return unsafeFile('no_access', of)
  if (code === 'ELOOP') return unsafeFile('symlink_blocked', of)
  if (code === 'EISDIR') return unsafeFile('not_a_file', of)
  return new Failure('store.failed', `${JSON.stringify(of)} could not be reached on disk: ${code}`, {
    cause: error,
    details: { path: of, code },
  })
}

/** Many may share, one alone is alone; in the order of their coming. A write must not land in a folder that is just being replaced. */
export interface FolderLock {
  shared<T>(work: () => Promise<T>): Promise<T>
  exclusive<T>(work: () => Promise<T>): Promise<T>
}

export function createFolderLock(): FolderLock {
  let exclusive: Promise<unknown> = Promise.resolve()
  const sharers = new Set<Promise<unknown>>()
  return {
    shared(work) {
      const done = exclusive.then(work)
      const settled: Promise<unknown> = done.catch(() => {}).finally(() => sharers.delete(settled)) // whoever asked hears of its failure
      sharers.add(settled)
      return done
    },
    exclusive(work) {
      const before = Promise.all([exclusive, ...sharers])
      const done = before.then(work)
      exclusive = done.catch(() => {})
      return done
    },
  }
}
