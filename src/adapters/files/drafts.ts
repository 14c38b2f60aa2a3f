import { createHash, randomBytes } from 'node:crypto'
import { opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { errorCode, type OpenFolder, openSubfolder } from './open.ts'

/*
 * Drafts are files and folders that are still being written, in the private folder. The name of a draft begins with the host and the
 * process that writes it, so that other processes can recognise drafts of dead ones.
 */

const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
const ownPrefix = `${host}-${process.pid}-${randomBytes(6).toString('hex')}-`

/** A unique name for a draft of this process. */
export const newDraftId = (): string => ownPrefix + randomBytes(6).toString('hex')

export const isOwnDraft = (name: string): boolean => name.startsWith(ownPrefix)

/** Whether the process of a draft is dead. False for drafts of other hosts, which can not be checked. */
export function isOrphanedDraft(name: string): boolean {
  const [from, pid] = name.split('-')
  return from === host && !isOwnDraft(name) && !isRunning(Number(pid))
}

function isRunning(pid: number): boolean {
  if (pid === process.pid || !Number.isSafeInteger(pid) || pid <= 0) return false // our pid in another process's draft: an earlier process had it
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) !== 'ESRCH'
  }
}

/**
 * Removes an entry of the private folder and everything below it, without following links. Folders inside are first moved up beside
 * the entry, so that a tree of any depth needs one open folder and no long paths. They keep the draft's id in their names, so that
 * after a crash they are recognised like other drafts.
 */
export async function removeTree(privateFolder: OpenFolder, name: string): Promise<void> {
  const [id] = name.split('.')
  const queue = [name]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (await unlinkUnlessFolder(privateFolder, next)) continue
    const folder = await openSubfolder(privateFolder, next, next)
    if (!folder) continue
    try {
      for await (const entry of await opendir(folder.inside(''))) {
        if (entry.isDirectory()) {
          const moved = `${id}.${randomBytes(6).toString('hex')}.gone`
          await rename(folder.inside(entry.name), privateFolder.inside(moved))
          queue.push(moved)
        } else await unlink(folder.inside(entry.name))
      }
    } finally {
      await folder.close()
    }
    await rmdir(privateFolder.inside(next))
  }
}

/** Removes a file or a link. Returns false for a folder, which it leaves alone. */
async function unlinkUnlessFolder(parent: OpenFolder, name: string): Promise<boolean> {
  try {
    await unlink(parent.inside(name))
    return true
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return true
    if (code === 'EISDIR' || code === 'EPERM') return false // POSIX specifies EPERM for a folder, Linux returns EISDIR
    throw error
  }
}
