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
  readPieces,
  walk,
  writeAtomically,
} from './open.ts'
import { openPrivateFolder, recoverSwaps, replaceFolder } from './replace-folder.ts'
import { checkContents, defaultMaxBytes, folderSegments, safeSegments, unsafeFile } from './safe-paths.ts'

/**
 * Files below a folder on disk, in which programs that a model wrote may have created any files and links. Several processes may write
 * files at the same time. Only the process that has claimed the conversation replaces folders. If a process died while it replaced a
 * folder, the first call of any function finishes or discards this replacement.
 */
export function createDiskFiles({ folder }: { readonly folder: string }): Files {
  const lock = createFolderLock()
  let recovered: Promise<void> | undefined

  async function atRoot<T>(requested: string, work: (root: OpenFolder) => Promise<T>): Promise<T> {
    try {
      recovered ??= recoverOnce().catch((error: unknown) => {
        recovered = undefined // the next call tries again
        throw error
      })
      await recovered
      return await withOpen(openRoot(folder), work)
    } catch (error) {
      throw translateError(error, requested)
    }
  }

  const recoverOnce = async () => withOpen(openRoot(folder), recoverSwaps)

  /**
   * Runs `work` with the opened folder that contains `path`. If this folder does not exist, it is created if `make` is true. Otherwise the
   * result is undefined.
   */
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
        const file = openFile(folder, name, path)
        return file && withOpen(file, () => readBytes(file, path, maxBytes))
      }),

    async *stream(path, { maxBytes = defaultMaxBytes } = {}) {
      const file = await inFolderOf(path, false, async (folder, name) => openFile(folder, name, path))
      if (!file) throw unsafeFile('not_a_file', path, 'does not exist')
      try {
        yield* readPieces(file, path, maxBytes)
      } catch (error) {
        throw translateError(error, path)
      } finally {
        file.close()
      }
    },

    stat: (path) =>
      inFolderOf(path, false, async (folder, name) => {
        const file = openFile(folder, name, path)
        file?.close()
        return file && { path, size: file.stats.size, readOnly: isReadOnly(file.stats), writtenAtMs: file.stats.mtimeMs }
      }),

    async write(path, bytes, options = {}) {
      const copy = Uint8Array.from(bytes) // a copy, because the caller may modify the bytes before they are written
      await lock.shared(() =>
        inFolderOf(path, true, async (folder, name, root) => {
          checkReplaceable(folder, name, path)
          await withOpen(await openPrivateFolder(root), (drafts) =>
            writeAtomically(drafts.inside(`${newDraftId()}.draft`), copy, options, folder, name),
          )
        }),
      )
    },

    list: async (path, options = {}) => {
      const segments = folderSegments(path)
      return atRoot(path, (root) => listFiles(root, segments, options))
    },

    async remove(path) {
      const removed = await lock.shared(() =>
        inFolderOf(path, false, async (folder, name) => {
          if (!checkReplaceable(folder, name, path)) return false
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
      const copies = new Map([...files].map(([name, bytes]) => [name, Uint8Array.from(bytes)]))
      await lock.exclusive(() => atRoot(path, (root) => replaceFolder(root, path, copies, readOnly)))
    },
  }
}

async function withOpen<H extends { close(): void }, T>(handle: H, work: (handle: H) => Promise<T>): Promise<T> {
  try {
    return await work(handle)
  } finally {
    handle.close()
  }
}

/**
 * Turns a system error into a Failure with the requested path and the error code. A model may read the message, so it contains no
 * absolute path.
 */
function translateError(error: unknown, requested: string): unknown {
  const code = errorCode(error)
  if (error instanceof Failure || code === undefined) return error
  if (code === 'EACCES' || code === 'EPERM') return unsafeFile('no_access', requested)
  if (code === 'ELOOP') return unsafeFile('symlink_blocked', requested)
  if (code === 'EISDIR') return unsafeFile('not_a_file', requested)
  return new Failure('store.failed', `${JSON.stringify(requested)} could not be reached on disk: ${code}`, {
    cause: error,
    details: { path: requested, code },
  })
}

/**
 * A lock for writing files and replacing folders. Several writes may hold the lock at the same time. A replacement holds it alone. So no
 * file is written into a folder that is being replaced.
 */
interface FolderLock {
  shared<T>(work: () => Promise<T>): Promise<T>
  exclusive<T>(work: () => Promise<T>): Promise<T>
}

function createFolderLock(): FolderLock {
  let lastExclusive: Promise<unknown> = Promise.resolve()
  const shared = new Set<Promise<unknown>>()
  return {
    shared(work) {
      const done = lastExclusive.then(work)
      // a failure is ignored because the caller gets it through `done`
      const settled: Promise<unknown> = done.catch(() => {}).finally(() => shared.delete(settled))
      shared.add(settled)
      return done
    },
    exclusive(work) {
      const done = Promise.all([lastExclusive, ...shared]).then(work)
      lastExclusive = done.catch(() => {})
      return done
    },
  }
}
