import { constants } from 'node:os'
import type { ProgramEnd } from '../../ports/sandbox.ts'
import type { ProcessEnd } from './process.ts'

/** Some signals have two names. The first one is the usual one, such as SIGABRT before SIGIOT. */
const signalNames = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
)

/** How a program ended that was not stopped by the sandbox. */
export function endOf({ exitCode, messages }: ProcessEnd): ProgramEnd {
  if (exitCode === undefined) return { kind: 'not_started', message: messages === '' ? 'the sandbox was ended from outside' : messages }
  // The program has another stream for its messages. So these come from a program that prepares the sandbox.
  if (exitCode !== 0 && messages !== '') return { kind: 'not_started', message: messages }
  const signal = exitCode > 128 ? signalNames.get(exitCode - 128) : undefined
  return signal === undefined ? { kind: 'exited', exitCode } : { kind: 'killed', signal }
}
