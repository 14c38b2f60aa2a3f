import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { parseProcessStat } from '../../core/process-stat.ts'
import { errorCode, type OpenFolder, openSubfolder } from './open.ts'

/*
 * A draft is a file or folder in the private folder that is still being written. Its name tells which process writes it:
 * `<place>-<pid>-<start>-<random>`. So other processes can recognise the drafts of dead processes. The place identifies the machine and its
 * pid namespace. If two names have the same place, pid and start time, the same process made both drafts.
 */

const { place, startedAt } = readOwnProcess()
const ownPrefix = `${place}-${process.pid}-${startedAt}-`

/** Returns a unique name for a draft of this process. */
export const newDraftId = (): string => ownPrefix + randomBytes(12).toString('hex')

/** Whether a thread of this process made the draft. */
export const isOwnDraft = (name: string): boolean => name.startsWith(ownPrefix)

/**
 * Whether the process that made the draft is dead. False for drafts of another machine or pid namespace, whose processes can not be
 * checked.
 */
export function isOrphanedDraft(name: string): boolean {
  const [from, pid] = name.split('-')
  return from === place && !isOwnDraft(name) && !isRunning(Number(pid))
}

function isRunning(pid: number): boolean {
  // if this process has the pid, the process that made the draft is dead: it had the same pid, but is not this process
  if (pid === process.pid || !Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) !== 'ESRCH'
  }
}

/**
 * The place of this process, and when it started. On Linux, the place is a hash of host name, boot and pid namespace, because containers
 * may have the same host name. If these values can not be read, the place is a random text that no other process has. On other systems, the
 * place is a hash of the host name.
 */
function readOwnProcess(): { readonly place: string; readonly startedAt: string } {
  const hash = (...facts: readonly string[]) => createHash('sha256').update(facts.join('\n')).digest('hex').slice(0, 16)
  if (process.platform !== 'linux') return { place: hash(hostname()), startedAt: String(Math.trunc(performance.timeOrigin)) }
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
    const stat = parseProcessStat(readFileSync('/proc/self/stat', 'utf8'))
    if (stat) return { place: hash(hostname(), bootId, readlinkSync('/proc/self/ns/pid')), startedAt: stat.startedAt }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
  }
  return { place: randomBytes(8).toString('hex'), startedAt: '0' }
}

/**
 * Removes a file or folder in the private folder, with everything below it. Links are not followed. Subfolders are first moved directly
 * into the private folder. So a deep tree needs only one open folder and no long paths. A moved folder keeps the id of the draft in its
 * name, so that after a crash other processes still recognise it as a draft.
 */
export async function removeTree(privateFolder: OpenFolder, name: string): Promise<void> {
  const [id] = name.split('.')
  const queue = [name]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (await unlinkUnlessFolder(privateFolder, next)) continue
    const folder = openSubfolder(privateFolder, next, next)
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
      folder.close()
    }
    await rmdir(privateFolder.inside(next))
  }
}

/** Removes a file or a link. Returns false for a folder, which is not removed. */
async function unlinkUnlessFolder(parent: OpenFolder, name: string): Promise<boolean> {
  try {
    await unlink(parent.inside(name))
    return true
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return true
    if (code === 'EISDIR' || code === 'EPERM') return false // the error for a folder: EISDIR on Linux, EPERM in POSIX
    throw error
  }
}
