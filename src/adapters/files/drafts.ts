import { createHash, randomBytes } from 'node:crypto'
import { opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { errorCode, type OpenFolder, openSubfolder } from './open.ts'

/** A draft names the process that writes it, so that others can tell a live one from what a dead one left. */
const host = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
const ownPrefix = `${host}-${process.pid}-${randomBytes(6).toString('hex')}-`

export const newDraftId = (): string => ownPrefix + randomBytes(6).toString('hex')

export const isOwnDraft = (name: string): boolean => name.startsWith(ownPrefix)

/** Of another host: unknown. */
export function isOrphanedDraft(name: string): boolean {
  const [from, pid] = name.split('-')
  return from === host && !isOwnDraft(name) && !isRunning(Number(pid))
}

function isRunning(pid: number): boolean {
  if (pid === process.pid || !Number.isSafeInteger(pid) || pid <= 0) return false // not mine, so of one that had my number before me
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) !== 'ESRCH'
  }
}

/**
 * Removes an entry and everything below it, following no link. Folders inside are first moved up beside it, so that a tree of any depth
 * takes one open folder and no long path. What is moved up has the id of what it lay in: after a crash it is known whose it was.
 */
export async function removeTree(home: OpenFolder, name: string): Promise<void> {
  const [id] = name.split('.')
  const waiting = [name]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (await unlinkUnlessFolder(home, next)) continue
    const folder = await openSubfolder(home, next, next)
    if (!folder) continue
    try {
      for await (const entry of await opendir(folder.inside(''))) {
        if (entry.isDirectory()) {
          const up = `${id}.${randomBytes(6).toString('hex')}.gone`
          await rename(folder.inside(entry.name), home.inside(up))
          waiting.push(up)
        } else await unlink(folder.inside(entry.name))
      }
    } finally {
      await folder.close()
    }
    await rmdir(home.inside(next))
  }
}

/** False for a folder. */
async function unlinkUnlessFolder(home: OpenFolder, name: string): Promise<boolean> {
  try {
    await unlink(home.inside(name))
    return true
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return true
    if (code === 'EISDIR' || code === 'EPERM') return false // EPERM is what POSIX asks for, EISDIR what Linux says
    throw error
  }
}
