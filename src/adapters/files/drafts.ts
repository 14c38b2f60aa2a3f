import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { parseProcessStat } from '../../core/process-stat.ts'
import { errorCode, type OpenFolder, openSubfolder } from './open.ts'

/*
 * Drafts are files and folders that are still being written, in the private folder. The name of a draft begins with the process that
 * writes it, so that other processes can recognise drafts of dead ones: `<place>-<pid>-<start>-<random>`. In the same place, a pid means
 * the same process, if the start time is the same.
 */

const { place, startedAt } = readOwnProcess()
const ownPrefix = `${place}-${process.pid}-${startedAt}-`

/** A unique name for a draft of this process. */
export const newDraftId = (): string => ownPrefix + randomBytes(12).toString('hex')

/** Whether a draft belongs to this process, in any of its threads. */
export const isOwnDraft = (name: string): boolean => name.startsWith(ownPrefix)

/** Whether the process of a draft is dead. False for drafts from other places, where the process can not be checked. */
export function isOrphanedDraft(name: string): boolean {
  const [from, pid] = name.split('-')
  return from === place && !isOwnDraft(name) && !isRunning(Number(pid))
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
 * The place is a boot of a host and, on Linux, a pid namespace: containers may have the same host name. If it can not be found out, a
 * random place stands for it, which no other process has.
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
