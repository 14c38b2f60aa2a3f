import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { errorCode } from './error-code.ts'

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
