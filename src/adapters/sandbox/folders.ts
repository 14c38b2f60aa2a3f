import { lchownSync, lstatSync, statSync } from 'node:fs'
import type { SandboxFolders } from '../../ports/sandbox.ts'
import type { Identity } from './identity.ts'
import { addTotals, type FolderTotals, giveFolder, lendReadOnly, reclaimFolder, walkFolder } from './walk.ts'

/** The folders of a run, while the program can use them. */
export interface PreparedFolders {
  /** Folders below the folder of the turn that the program may only read. */
  readonly readOnly: readonly string[]
  /** The folders that the program can write to. */
  readonly writable: readonly string[]
  /** The totals of the folders before the program started. */
  readonly before: FolderTotals
  /**
   * Makes the files in the folders belong to Daybook again, after all processes of the program have ended. Returns the totals of the
   * folders after the run.
   */
  release(): Promise<FolderTotals>
}

/** For each work folder, a promise for the end of the latest run in the queue for this folder. */
const lastRuns = new Map<string, Promise<void>>()

/**
 * Prepares the folders of a run. If the program has a user of its own (`identity`), this user becomes the owner of the folders that the
 * program may write to, and of files that only their owner can read. After the run, all files belong to the owner of `out` again.
 *
 * Runs with the same work folder wait for each other. Otherwise a program could replace a folder by a link after the folder was checked for
 * the next run, and before the next run uses it. Undefined if the signal fired while this run waited.
 */
export async function prepareFolders(
  folders: SandboxFolders,
  identity: Identity | undefined,
  signal: AbortSignal,
): Promise<PreparedFolders | undefined> {
  const endRun = await waitForTurn(folders.work, signal)
  if (!endRun) return undefined
  try {
    return await giveToProgram(folders, identity, endRun)
  } catch (error) {
    endRun()
    throw error
  }
}

async function giveToProgram(folders: SandboxFolders, identity: Identity | undefined, endRun: () => void): Promise<PreparedFolders> {
  const writable = [`${folders.out}/${folders.turn}`, folders.work]
  const owner = identity && ownerOf(folders.out)
  let lentEntries = 0
  if (identity) {
    lentEntries = await lendReadOnly(folders.out, folders.turn, identity)
    for (const path of Object.values(folders.context)) if (isPrivate(path)) lchownSync(path, identity.uid, identity.gid)
  }
  const before = await visitAll(writable, (path) => (identity ? giveFolder(path, identity) : walkFolder(path)))
  const attachments = lstatSync(`${folders.out}/${folders.turn}/attachments`, { throwIfNoEntry: false })

  async function takeBack(): Promise<FolderTotals> {
    const after = await visitAll(writable, (path) => reclaimFolder(path, owner))
    if (!identity || !owner) return after
    if (lentEntries > 0) await giveFolder(folders.out, owner)
    for (const path of Object.values(folders.context)) if (statSync(path).uid === identity.uid) lchownSync(path, owner.uid, owner.gid)
    return after
  }

  let released: Promise<FolderTotals> | undefined
  const release = () => {
    released ??= takeBack().finally(endRun)
    return released
  }
  return { readOnly: attachments?.isDirectory() ? ['attachments'] : [], writable, before, release }
}

const visitAll = async (paths: readonly string[], visit: (path: string) => Promise<FolderTotals>) =>
  (await Promise.all(paths.map(visit))).reduce(addTotals)

/**
 * Waits until no other run uses the work folder. Returns a function that must be called at the end of the run. Returns undefined if the
 * signal fires.
 */
async function waitForTurn(work: string, signal: AbortSignal): Promise<(() => void) | undefined> {
  const before = lastRuns.get(work) ?? Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  lastRuns.set(work, promise)
  const endRun = () => {
    if (lastRuns.get(work) === promise) lastRuns.delete(work)
    resolve()
  }
  const cancelled = Promise.withResolvers<void>()
  const onAbort = () => cancelled.resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  await Promise.race([before, cancelled.promise])
  signal.removeEventListener('abort', onAbort)
  if (!signal.aborted) return endRun
  void before.then(endRun) // this run is cancelled, so the next run in the queue has to wait for the previous one
  return undefined
}

const isPrivate = (path: string) => (statSync(path).mode & 0o004) === 0

/** The user that the files belong to when no program runs. */
function ownerOf(folder: string): Identity {
  const { uid, gid } = statSync(folder)
  return { uid, gid }
}
