import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { Failure } from '../../core/failure.ts'
import { isOrphanedDraft, isOwnDraft, newDraftId, removeTree } from './drafts.ts'
import { errorCode, lstatIfExists, type OpenFolder, openOrMakeSubfolder, openSubfolder, walk, writeNewFile } from './open.ts'
import { privateFolder, safeSegments, unsafeFile } from './safe-paths.ts'

/** Opens the private folder. It contains drafts and swaps. A swap is a replacement of a folder that has begun and is not finished. */
export const openPrivateFolder = (root: OpenFolder) => openOrMakeSubfolder(root, privateFolder, privateFolder)

/**
 * Replaces the contents of a folder by these files. If the process dies, the folder has all old contents or all new ones. During the
 * replacement, these entries appear in the private folder, in this order:
 *
 *   <id>.draft/           the new contents, while they are being written. If the process dies now, the folder keeps its old contents
 *   <id>.swap/target      the path of the folder
 *   <id>.swap/new         the new contents, complete and durable. If the process dies from now on, the next process finishes the
 *                         replacement
 *   <id>.swap/old.<…>     the old contents
 *   <id>.<…>.gone         old contents that are being removed
 */
export async function replaceFolder(
  root: OpenFolder,
  path: string,
  files: ReadonlyMap<string, Uint8Array>,
  readOnly: boolean,
): Promise<void> {
  await inParent(root, path, async (parent, name) => {
    checkFolder(parent, name, path)
    const drafts = await openPrivateFolder(root)
    try {
      const id = newDraftId()
      await prepareSwap(drafts, id, path, files, readOnly)
      const aside: string[] = []
      try {
        await drafts.sync()
        await moveIntoPlace(drafts, id, parent, name, aside)
      } catch (error) {
        // Move the old folder back. If this fails too, the swap stays, and the next process finishes the replacement.
        if (aside[0] !== undefined) await rename(aside[0], parent.inside(name))
        await discardDraft(drafts, id, 'swap')
        throw error
      }
      await discardDraft(drafts, id, 'swap')
    } finally {
      drafts.close()
    }
  })
}

async function inParent(root: OpenFolder, path: string, work: (parent: OpenFolder, name: string) => Promise<void>): Promise<void> {
  const segments = safeSegments(path)
  const parent = await walk(root, segments.slice(0, -1), (from, next) => openOrMakeSubfolder(from, next, path))
  if (!parent) throw unsafeFile('not_a_folder', path)
  try {
    await work(parent, segments.at(-1) as string)
  } finally {
    if (parent !== root) parent.close()
  }
}

function checkFolder(parent: OpenFolder, name: string, requested: string): void {
  const stats = lstatIfExists(parent.inside(name))
  if (stats?.isSymbolicLink()) throw unsafeFile('symlink_blocked', requested)
  if (stats && !stats.isDirectory()) throw unsafeFile('not_a_folder', requested)
}

/** Writes the new contents into a draft and makes them durable. Then it renames the draft to `<id>.swap`. */
async function prepareSwap(
  drafts: OpenFolder,
  id: string,
  target: string,
  files: ReadonlyMap<string, Uint8Array>,
  readOnly: boolean,
): Promise<void> {
  const draft = drafts.inside(`${id}.draft`)
  try {
    await mkdir(`${draft}/new`, { recursive: true })
    await writeNewFile(`${draft}/target`, new TextEncoder().encode(target))
    const folders = foldersAbove(files.keys())
    for (const folder of folders) await mkdir(`${draft}/new/${folder}`)
    await inParallel([...files], ([path, bytes]) => writeNewFile(`${draft}/new/${path}`, bytes, { readOnly }))
    await inParallel([...folders.map((folder) => `${draft}/new/${folder}`), `${draft}/new`, draft], syncFolder)
    await rename(draft, drafts.inside(`${id}.swap`))
  } catch (error) {
    await discardDraft(drafts, id, 'draft')
    throw error
  }
}

/** Moves the old folder into the swap and the new one to its place. `aside` collects the paths to which old folders were moved. */
async function moveIntoPlace(drafts: OpenFolder, id: string, parent: OpenFolder, name: string, aside: string[]): Promise<void> {
  const swap = drafts.inside(`${id}.swap`)
  while (!(await renameIfFree(`${swap}/new`, parent.inside(name)))) {
    if (aside.length > 7)
      throw new Failure(
        'store.failed',
        `${JSON.stringify(name)} could not be replaced, because another program keeps writing there: try again`,
      )
    const old = `${swap}/old.${randomBytes(6).toString('hex')}`
    await rename(parent.inside(name), old)
    aside.push(old)
  }
  await parent.sync()
}

/** Renames `from` to `to`. Returns false if `to` exists. The caller then moves `to` aside and tries again. */
async function renameIfFree(from: string, to: string): Promise<boolean> {
  if (lstatIfExists(to)) return false
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) return false // another process has created `to` meanwhile
    throw error
  }
}

/**
 * Removes a draft or a swap. A swap is first renamed to a draft, so that no process finishes it. If removing fails, `recoverSwaps` removes
 * the draft later.
 */
async function discardDraft(drafts: OpenFolder, id: string, as: 'draft' | 'swap'): Promise<void> {
  try {
    if (as === 'swap') await rename(drafts.inside(`${id}.swap`), drafts.inside(`${id}.draft`))
    await removeTree(drafts, `${id}.draft`)
  } catch (error) {
    ignoreSystemError(error)
  }
}

function ignoreSystemError(error: unknown): void {
  if (errorCode(error) === undefined) throw error
}

/**
 * Finishes all swaps of other processes and removes the drafts of dead processes. Drafts of processes that may be alive stay until they are
 * an hour old. Swaps are finished at once, whatever their age: only one process at a time replaces folders, so each other process that
 * began a swap is dead.
 */
export async function recoverSwaps(root: OpenFolder): Promise<void> {
  const drafts = openSubfolder(root, privateFolder, privateFolder)
  if (!drafts) return
  try {
    const names = (await readdir(drafts.inside(''))).filter((name) => !isOwnDraft(name))
    for (const name of names) if (name.endsWith('.swap')) await finishSwap(root, drafts, name.slice(0, -'.swap'.length))
    const rest = names.filter((name) => !name.endsWith('.swap'))
    const orphans = new Set([...rest.filter(isOrphanedDraft), ...(await olderThanAnHour(drafts, rest))])
    for (const name of orphans) await removeTree(drafts, name).catch(ignoreSystemError)
  } finally {
    drafts.close()
  }
}

/**
 * The drafts older than an hour. The current time is the modification time of a new file, because the clock of the file system may differ
 * from the clock of the process.
 */
async function olderThanAnHour(drafts: OpenFolder, names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) return []
  const hour = 3_600_000
  const probe = drafts.inside(`${newDraftId()}.probe`)
  await writeNewFile(probe, new Uint8Array())
  const now = lstatIfExists(probe)?.mtimeMs ?? 0
  await unlink(probe)
  const ages = names.map((name) => now - (lstatIfExists(drafts.inside(name))?.mtimeMs ?? now))
  return names.filter((_, index) => (ages[index] as number) > hour)
}

async function finishSwap(root: OpenFolder, drafts: OpenFolder, id: string): Promise<void> {
  const swap = drafts.inside(`${id}.swap`)
  try {
    if (lstatIfExists(`${swap}/new`)) {
      const path = await readFile(`${swap}/target`, 'utf8')
      await inParent(root, path, (parent, name) => moveIntoPlace(drafts, id, parent, name, []))
    }
  } catch (error) {
    // after any other error the swap stays, and a later process finishes it
    if (!(error instanceof Failure && error.code === 'file.unsafe')) throw error
    // `file.unsafe`: a link is in the place of the folder, so the swap can not be finished. It is discarded.
  }
  await discardDraft(drafts, id, 'swap')
}

/** All folders above these files. A folder comes before its subfolders. */
function foldersAbove(paths: Iterable<string>): readonly string[] {
  const folders = new Set<string>()
  for (const path of paths) {
    const segments = path.split('/')
    for (let depth = 1; depth < segments.length; depth++) folders.add(segments.slice(0, depth).join('/'))
  }
  return [...folders].sort()
}

/** Makes the names in a folder durable. This function follows links. Use it only for folders in a draft, which contain no links. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Runs `work` for 8 items at a time. After a failed call, the remaining items are still processed, and then the error is thrown. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < items.length) await work(items[next++] as T)
  }
  const results = await Promise.allSettled(Array.from({ length: 8 }, worker))
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
