import { readdirSync, readFileSync } from 'node:fs'

const closeOnExec = 0o2000000

/**
 * The file descriptors above 2 that every process started by this process would inherit. This process inherited them from its own parent,
 * such as a service manager or a shell. Files that Node itself opens are not inherited.
 */
export function inheritedFds(): readonly number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd > 2 && isInherited(fd))
}

function isInherited(fd: number): boolean {
  try {
    const flags = readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')
      .split('\n')
      .find((line) => line.startsWith('flags:'))
    return flags !== undefined && (Number.parseInt(flags.slice(6).trim(), 8) & closeOnExec) === 0
  } catch {
    return false // this was the descriptor with which the list was read, and it is closed now
  }
}
