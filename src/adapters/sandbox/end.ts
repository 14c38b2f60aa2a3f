import { constants } from 'node:os'
import type { ProgramEnd, SandboxLimits } from '../../ports/sandbox.ts'
import type { ProcessEnd } from './process.ts'
import type { FolderTotals } from './walk.ts'
import { growthLimit, memoryReached } from './watch.ts'

/** Some signals have two names. The first name in the list is the usual name, such as SIGABRT before SIGIOT. */
const signalNames = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
)

/** The facts about a program that ended without being stopped by the sandbox. */
export interface EndedProgram {
  readonly ended: ProcessEnd
  readonly log: string
  /** Whether the kernel has ended a process because the memory of the program was used up. */
  readonly ranOutOfMemory: boolean
  /** The totals of the folders before and after the run. */
  readonly before: FolderTotals
  readonly after: FolderTotals
  readonly limits: SandboxLimits
  readonly cpuSeconds: number
}

/** Returns how a program ended, if the sandbox did not stop it. The kernel may have stopped the program at a limit. */
export function endOf(program: EndedProgram): ProgramEnd {
  const { exitCode, messages } = program.ended
  if (exitCode === undefined) return { kind: 'not_started', message: messages === '' ? 'the sandbox was ended from outside' : messages }
  // The program itself does not write to this stream. So these messages come from a program that prepares the sandbox.
  if (exitCode !== 0 && messages !== '') return { kind: 'not_started', message: messages }
  const signal = exitCode > 128 ? signalNames.get(exitCode - 128) : undefined
  return limitReached(program, signal) ?? (signal === undefined ? { kind: 'exited', exitCode } : { kind: 'killed', signal })
}

function limitReached(
  { ended, log, ranOutOfMemory, before, after, limits, cpuSeconds }: EndedProgram,
  signal: string | undefined,
): ProgramEnd | undefined {
  if (signal === 'SIGXCPU')
    return { kind: 'limit', limit: 'cpu_limit', message: `a process used the processor for more than ${cpuSeconds} seconds` }
  const failed = ended.exitCode !== 0
  const reachedFileSize = after.largest >= limits.fileBytes && before.largest < limits.fileBytes
  if (signal === 'SIGXFSZ' || (failed && reachedFileSize))
    return {
      kind: 'limit',
      limit: 'file_size_limit',
      message: `a file reached ${Math.round(limits.fileBytes / 2 ** 20)} MiB, the largest size`,
    }
  if (failed && (ranOutOfMemory || gotNoMemory(log))) return memoryReached(limits)
  return growthLimit(before, after, limits)
}

/**
 * Whether a process ended because the kernel refused it more memory. In this case, the output of Python and Node contains these messages.
 */
function gotNoMemory(log: string): boolean {
  const lastLine = log.trimEnd().split('\n').at(-1) ?? ''
  return lastLine.split(':')[0]?.endsWith('MemoryError') || log.includes('JavaScript heap out of memory')
}
