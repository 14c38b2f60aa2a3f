import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The processes of the given users, except this one. */
export function processesOf(uids: ReadonlySet<number>): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => Number(name) > 0 && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const uid = statSync(`/proc/${pid}`).uid
        return uid !== 0 && uids.has(uid) ? [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')}`] : []
      } catch {
        return [] // it has just ended
      }
    })
}

/** The mounts of this process that have to do with a folder. */
export function mountsBelow(folder: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(folder))
}

/** Waits until there is a value. After `maxMs` it gives up, and the check that follows fails. */
export async function waitFor<Value>(look: () => Value | undefined, maxMs = 30_000): Promise<Value | undefined> {
  for (const deadline = Date.now() + maxMs; ; ) {
    const value = look()
    if (value !== undefined || Date.now() > deadline) return value
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** False if the project is in a folder that other users can not enter. */
export function othersCanRead(path: string): boolean {
  const parts = join(process.cwd(), path).split('/').slice(1)
  return parts.every((_, index) => (statSync(`/${parts.slice(0, index + 1).join('/')}`).mode & 0o005) !== 0)
}
