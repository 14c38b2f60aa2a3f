/** What the kernel reports of a process in `/proc/<pid>/stat`. */
export interface ProcessStat {
  /** When the process started, in clock ticks since the machine booted. The text is compared, never calculated with. */
  readonly startedAt: string
  /** Whether the process has ended and only its exit status remains, until its parent asks for it (a zombie). */
  readonly ended: boolean
}

/** Parses the text of `/proc/<pid>/stat`. Undefined for any other text. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ') // the name of the program comes before; it may contain spaces and brackets
  const [state, threads, startedAt] = [fields[0], fields[17], fields[19]]
  if (state === undefined || threads === undefined || startedAt === undefined || !/^\d+$/.test(startedAt)) return undefined
  // The first thread of a process may end before the others: then the state is Z, and the process still runs.
  return { startedAt, ended: (state === 'Z' || state === 'X') && Number(threads) <= 1 }
}
