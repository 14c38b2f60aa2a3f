import { readFileSync, readlinkSync } from 'node:fs'
import { type ProcessStat, parseProcessStat } from '../../../core/process-stat.ts'
import type { Owner } from '../../../ports/store.ts'

/*
 * Whether the owner of a lease is dead, before the lease expires. Two processes that both write to a conversation are worse than a wait
 * of half a minute, so only a proof counts:
 *
 *   host, boot or namespace differ            no proof: its pid means nothing here, and host names repeat in containers
 *   namespace unknown, on Linux               no proof, for the same reason
 *   its pid is gone, or a zombie has it       dead
 *   its pid belongs to a process that
 *     started at another time                 dead: the pid was given away again
 *     started at the same time                alive, also when it is stopped
 *     started at an unknown time              no proof
 *
 * Namespaces are compared by inode number. The kernel uses the number of a namespace again only after all its processes have ended. So when
 * the owner's namespace has the number of ours, it is ours, or the owner is dead. In both cases the rules above give the right answer.
 *
 * Another boot on the same host name is no proof either: it may be a restarted machine, or another machine with a container of that name.
 */

/** A process that exists. `startedAt` is undefined when it can not be found out. */
export interface FoundProcess {
  readonly startedAt?: string
}

/** Whether the owner is certainly dead. `claimant` is the process that asks; `find` looks for a process by its pid. */
export function isProvenDead(owner: Owner, claimant: Owner, find: (pid: number) => FoundProcess | undefined): boolean {
  if (!sharePids(owner, claimant)) return false
  const found = owner.pid === claimant.pid ? claimant : find(owner.pid)
  if (!found) return true
  return owner.startedAt !== undefined && found.startedAt !== undefined && owner.startedAt !== found.startedAt
}

/** Whether both owners certainly count pids in the same way. Systems other than Linux have no namespaces: there the host decides. */
function sharePids(owner: Owner, claimant: Owner): boolean {
  if (claimant.startedAt === undefined) return false // the claimant knows nothing about itself
  return owner.host === claimant.host && owner.bootId === claimant.bootId && owner.pidNs === claimant.pidNs
}

/** The process with this pid; undefined when there is none. */
export function findProcess(pid: number): FoundProcess | undefined {
  const stat = readStat(pid)
  if (stat) return stat.ended ? undefined : { startedAt: stat.startedAt }
  return isRunning(pid) ? {} : undefined
}

/** Undefined when there is no such process, when it is hidden from us, or when `/proc` shows the processes of another namespace. */
function readStat(pid: number): ProcessStat | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    if (readlinkSync('/proc/self') !== String(process.pid)) return undefined
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return undefined
    throw error
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH') // other errors mean that the process exists
  }
}
