import { readFileSync, readlinkSync } from 'node:fs'
import { type ProcessStat, parseProcessStat } from '../../../core/process-stat.ts'
import type { Owner } from '../../../ports/store.ts'

/*
 * Decides whether the owner of a lease is dead, before the lease expires. If two processes wrote to one conversation, its journal would be
 * wrong. It is better to wait half a minute for the end of the lease. Therefore an owner is treated as dead only in the cases that this
 * table calls dead. The claimant is the process that asks.
 *
 *   host, boot or pid namespace of owner and
 *     claimant differ                         not proven: the claimant can not look up the owner's pid, and host names repeat in containers
 *   pid namespace unknown, on Linux           not proven, for the same reason
 *   no process has the owner's pid, or a
 *     zombie has it                           dead
 *   a process has the owner's pid, and it
 *     started at another time                 dead: the system gave the pid to a new process
 *     started at the same time                alive, even when it is stopped
 *     started at an unknown time              not proven
 *
 * Namespaces are compared by inode number. The kernel gives the number of a namespace to a new one only after all processes of the old one
 * have ended. So if owner and claimant have the same number, either they are in one namespace, or the owner is dead. In both cases the
 * table gives the right answer.
 *
 * Another boot with the same host name proves no death. It may be the same machine after a restart, or another machine with a container of
 * the same name.
 */

/** A process that exists. `startedAt` is undefined when the start time of the process is unknown. */
export interface FoundProcess {
  readonly startedAt?: string
}

/** Whether the owner is certainly dead. `claimant` is the process that asks. `find` returns the process with a pid. */
export function isProvenDead(owner: Owner, claimant: Owner, find: (pid: number) => FoundProcess | undefined): boolean {
  if (!sharePids(owner, claimant)) return false
  const found = owner.pid === claimant.pid ? claimant : find(owner.pid)
  if (!found) return true
  return owner.startedAt !== undefined && found.startedAt !== undefined && owner.startedAt !== found.startedAt
}

/**
 * Whether a pid certainly means the same process for owner and claimant. Systems other than Linux have no pid namespaces, so `pidNs`
 * is undefined for both.
 */
function sharePids(owner: Owner, claimant: Owner): boolean {
  if (claimant.startedAt === undefined) return false // the claimant does not know its own boot and namespace either
  return owner.host === claimant.host && owner.bootId === claimant.bootId && owner.pidNs === claimant.pidNs
}

/** The process with this pid. Undefined when no process has this pid. */
export function findProcess(pid: number): FoundProcess | undefined {
  const stat = readStat(pid)
  if (stat) return stat.ended ? undefined : { startedAt: stat.startedAt }
  return isRunning(pid) ? {} : undefined
}

/** Undefined when the process does not exist or may not be read, or when `/proc` shows the processes of another namespace. */
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
    // ESRCH: no such process. All other errors mean that the process exists
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
