import { readdirSync, readFileSync } from 'node:fs'

const TICK_MS = 10

/** The processor time of all processes of the PostgreSQL server to which a connection belongs, in milliseconds. */
export function cpuOfServer(connectionPid: number): number {
  // the name of a program may have blanks, so the fields are counted from the end of the name
  const fields = (pid: string) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  const server = fields(String(connectionPid))[1] ?? ''
  const [, , , , , , , , , , , own, system, ofEnded, systemOfEnded] = fields(server)
  let ticks = Number(own) + Number(system) + Number(ofEnded) + Number(systemOfEnded)
  for (const pid of readdirSync('/proc').filter((name) => Number(name) > 0)) {
    const found = statOrNone(pid)
    if (found?.[1] === server) ticks += Number(found[11]) + Number(found[12])
  }
  return ticks * TICK_MS

  function statOrNone(pid: string): readonly string[] | undefined {
    try {
      return fields(pid)
    } catch {
      return undefined // the process has ended since it was listed
    }
  }
}
