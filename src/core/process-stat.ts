/** Information about a process that the kernel reports in `/proc/<pid>/stat`. */
export interface ProcessStat {
  /** When the process started, in clock ticks since the machine booted. It is a string because it is only compared with other values. */
  readonly startedAt: string
  /** True for a zombie: the process has ended, and only its exit status remains until its parent reads it. */
  readonly ended: boolean
}

/** Parses the text of `/proc/<pid>/stat`. Undefined for any other text. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  // The fields follow the name of the program, which is in brackets and may itself contain spaces and brackets.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, threads, startedAt] = [fields[0], fields[17], fields[19]]
  if (state === undefined || threads === undefined || startedAt === undefined || !/^\d+$/.test(startedAt)) return undefined
  // If the first thread of a process ends before the other threads, the state is also Z, but the process is still running.
  return { startedAt, ended: (state === 'Z' || state === 'X') && Number(threads) <= 1 }
}
