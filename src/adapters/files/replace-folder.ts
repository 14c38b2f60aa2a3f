import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { Failure } from '../../core/failure.ts'
import { isOrphanedDraft, isOwnDraft, newDraftId, removeTree } from './drafts.ts'
import { errorCode, lstatIfExists, type OpenFolder, openOrMakeSubfolder, openSubfolder, walk, writeNewFile } from './open.ts'
import { privateFolder, safeSegments, unsafeFile } from './safe-paths.ts'

/*
 * How a folder is replaced, below the private folder of the files (`<id>` is a draft's):
 *
 *   <id>.draft/           being filled; a crash here means that nothing has happened
 *   <id>.swap/target      which folder
 *   <id>.swap/new         what it is to hold, whole and durable; from here on it will be finished, by us or by the next to come
 *   <id>.swap/old.<…>     what it held
 *   <id>.<…>.gone         being removed
 */
export const openPrivateFolder = (root: OpenFolder) => openOrMakeSubfolder(root, privateFolder, privateFolder)

export async function replaceFolder(
  root: OpenFolder,
  path: string,
  files: ReadonlyMap<string, Uint8Array>,
  readOnly: boolean,
): Promise<void> {
  await inParent(root, path, async (parent, name) => {
    await checkFolder(parent, name, path)
    const home = await openPrivateFolder(root)
    try {
      const id = newDraftId()
      await prepareSwap(home, id, path, files, readOnly)
      const aside: string[] = []
      try {
        await home.sync()
        await moveIntoPlace(home, id, parent, name, aside)
      } catch (error) {
        if (aside[0] !== undefined) await rename(aside[0], parent.inside(name)) // when even this fails, the next to come finishes the swap
        await discardDraft(home, id, 'swap')
        throw error
      }
      await discardDraft(home, id, 'swap')
    } finally {
      await home.close()
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
    if (parent !== root) await parent.close()
  }
}

async function checkFolder(parent: OpenFolder, name: string, of: string): Promise<void> {
  const stats = await lstatIfExists(parent.inside(name))
  if (stats?.isSymbolicLink()) throw unsafeFile('symlink_blocked', of)
  if (stats && !stats.isDirectory()) throw unsafeFile('not_a_folder', of)
}

async function prepareSwap(
  home: OpenFolder,
  id: string,
  target: string,
  files: ReadonlyMap<string, Uint8Array>,
  readOnly: boolean,
): Promise<void> {
  const draft = home.inside(`${id}.draft`)
  try {
    await mkdir(`${draft}/new`, { recursive: true })
    await writeNewFile(`${draft}/target`, new TextEncoder().encode(target), false)
    const folders = foldersAbove(files.keys())
    for (const folder of folders) await mkdir(`${draft}/new/${folder}`)
    await inParallel([...files], ([path, bytes]) => writeNewFile(`${draft}/new/${path}`, bytes, readOnly))
    await inParallel([...folders.map((folder) => `${draft}/new/${folder}`), `${draft}/new`, draft], syncFolder)
    await rename(draft, home.inside(`${id}.swap`))
  } catch (error) {
    await discardDraft(home, id, 'draft')
    throw error
  }
}

/** Moves what is there aside and the new folder into its place. */
async function moveIntoPlace(home: OpenFolder, id: string, parent: OpenFolder, name: string, aside: string[]): Promise<void> {
  const swap = home.inside(`${id}.swap`)
  while (!(await renameIfFree(`${swap}/new`, parent.inside(name)))) {
    if (aside.length > 7)
      throw new Failure('store.failed', `${JSON.stringify(name)} could not be replaced: something else keeps writing there`)
    const old = `${swap}/old.${randomBytes(6).toString('hex')}`
    await rename(parent.inside(name), old)
    aside.push(old)
  }
  await parent.sync()
}

/** False when something is in the way that has to be moved aside first. */
async function renameIfFree(from: string, to: string): Promise<boolean> {
  if (await lstatIfExists(to)) return false
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) return false // it came just now
    throw error
  }
}

/** No longer to be finished; then removed. What can not be removed now is tried again by whoever opens these files next. */
async function discardDraft(home: OpenFolder, id: string, as: 'draft' | 'swap'): Promise<void> {
  try {
    if (as === 'swap') await rename(home.inside(`${id}.swap`), home.inside(`${id}.draft`))
    await removeTree(home, `${id}.draft`)
  } catch (error) {
    ignoreSystemError(error)
  }
}

function ignoreSystemError(error: unknown): void {
  if (errorCode(error) === undefined) throw error
}

/**
 * Finishes the swaps that a dead process left behind and removes what else it left. What this process has under way is passed over; what
 * another may still be writing, too, until it is old. Swaps are not left to wait: who replaces folders has them alone.
 */
export async function recoverSwaps(root: OpenFolder): Promise<void> {
  const home = await openSubfolder(root, privateFolder, privateFolder)
  if (!home) return
  try {
    const names = (await readdir(home.inside(''))).filter((name) => !isOwnDraft(name))
    for (const name of names) if (name.endsWith('.swap')) await finishSwap(root, home, name.slice(0, -'.swap'.length))
    const rest = names.filter((name) => !name.endsWith('.swap'))
    const orphans = new Set([...rest.filter(isOrphanedDraft), ...(await olderThanAnHour(home, rest))])
    for (const name of orphans) await removeTree(home, name).catch(ignoreSystemError)
  } finally {
    await home.close()
  }
}

/** Age is told by comparing files, so that it does not depend on whose clock stamps them. */
async function olderThanAnHour(home: OpenFolder, names: readonly string[]): Promise<readonly string[]> {
  if (names.length === 0) return []
  const hour = 3_600_000
  const probe = home.inside(`${newDraftId()}.probe`)
  await writeNewFile(probe, new Uint8Array(), false)
  const now = (await lstatIfExists(probe))?.mtimeMs ?? 0
  await unlink(probe)
  const ages = await Promise.all(names.map(async (name) => now - ((await lstatIfExists(home.inside(name)))?.mtimeMs ?? now)))
  return names.filter((_, index) => (ages[index] as number) > hour)
}

async function finishSwap(root: OpenFolder, home: OpenFolder, id: string): Promise<void> {
  const swap = home.inside(`${id}.swap`)
  try {
    if (await lstatIfExists(`${swap}/new`)) {
      const path = await readFile(`${swap}/target`, 'utf8')
      await inParent(root, path, (parent, name) => moveIntoPlace(home, id, parent, name, []))
    }
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'file.unsafe')) throw error // tried again by the next
    // Where the folder was there is a link now: nobody's place any more.
  }
  await discardDraft(home, id, 'swap')
}

/** Every folder above these files, each before the ones inside it. */
function foldersAbove(paths: Iterable<string>): readonly string[] {
  const folders = new Set<string>()
  for (const path of paths) {
    const segments = path.split('/')
    for (let depth = 1; depth < segments.length; depth++) folders.add(segments.slice(0, depth).join('/'))
  }
  return [...folders].sort()
}

/** Of our own, where there are no links. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** All that were begun have ended when this does, also when one of them failed. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < items.length) await work(items[next++] as T)
  }
  const ended = await Promise.allSettled(Array.from({ length: 8 }, worker))
  for (const end of ended) if (end.status === 'rejected') throw end.reason
}
