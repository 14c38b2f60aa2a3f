import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { parseProcessStat } from '../../core/process-stat.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Owner } from '../../ports/store.ts'

type ProcessFacts = Pick<Owner, 'startedAt' | 'bootId' | 'pidNs'>

/**
 * Data that identifies this process. It does not change while the process runs, so it is read once. All agents of a process must have the
 * same data, even in different worker threads. Otherwise one agent would take another one for a dead process with the same pid.
 */
let processFacts: ProcessFacts | undefined

/** Makes the owner for the claims of one agent. Every agent needs its own owner, even if several agents run in one process. */
export function createOwner(clock: Clock): Owner {
  processFacts ??= process.platform === 'linux' ? readLinuxFacts() : { startedAt: new Date(performance.timeOrigin).toISOString() }
  return { id: clock.randomHex(16), host: hostname(), pid: process.pid, ...processFacts }
}

/**
 * Data that identifies this process on Linux, read from `/proc`. If `/proc` is not readable, returns an empty object. Other processes then
 * can not find out whether this process is dead, and wait until its leases expire.
 */
function readLinuxFacts(): ProcessFacts {
  try {
    const stat = parseProcessStat(readFileSync('/proc/self/stat', 'utf8'))
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const pidNs = [readlinkSync('/proc/self/ns/pid'), ...timeNamespace()].join(' ')
    return stat && bootId !== '' ? { startedAt: stat.startedAt, bootId, pidNs } : {}
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return {}
    throw error
  }
}

/**
 * The time namespace of the process. Start times that were read in different time namespaces can not be compared. Linux kernels before 5.6
 * have no time namespaces.
 */
function timeNamespace(): readonly string[] {
  try {
    return [readlinkSync('/proc/self/ns/time')]
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
