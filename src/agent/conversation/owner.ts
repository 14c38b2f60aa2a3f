import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { parseProcessStat } from '../../core/process-stat.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Owner } from '../../ports/store.ts'

type ProcessFacts = Pick<Owner, 'startedAt' | 'bootId' | 'pidNs'>

/** Read once: they do not change while the process runs. All agents of a process must have the same, also in worker threads. */
let processFacts: ProcessFacts | undefined

/** The owner of claims made by an agent in this process. Each agent needs its own, also when several run in one process. */
export function createOwner(clock: Clock): Owner {
  processFacts ??= process.platform === 'linux' ? readLinuxFacts() : { startedAt: new Date(performance.timeOrigin).toISOString() }
  return { id: clock.randomHex(16), host: hostname(), pid: process.pid, ...processFacts }
}

/** Empty when `/proc` is not readable. Then other processes can not find out whether this one is dead, and wait for the end of its leases. */
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

/** The time namespace: start times that were read in different ones can not be compared. Kernels before 5.6 have none. */
function timeNamespace(): readonly string[] {
  try {
    return [readlinkSync('/proc/self/ns/time')]
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
