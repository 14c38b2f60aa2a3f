import { failed } from '../outcome.ts'
import type { Outcome } from '../tool.ts'

/** Tags of the protocol, and how a block of code begins in markdown: none of it belongs to a program. */
const protocolMarkup = /<\/?(?:channel:|thinking>)|^\s*`/i

/** What keeps an exec tool from running: it runs the program in the code channel, all of it and nothing else. */
export function programProblem(code: string | undefined): Outcome | undefined {
  if (code === undefined || code.trim() === '')
    return programRefusal(
      'exec_missing_code',
      'There is no program: nothing ran. Send the call again, and the whole program after it, as plain text in <channel:code>…</channel:code>.',
    )
  if (!protocolMarkup.test(code)) return undefined
  return programRefusal(
    'exec_code_contaminated',
    'The code channel holds something that is no program, a tag of the protocol or a backtick at its beginning: nothing ran. Send the call again with the program alone in <channel:code>, without tags and without a fence.',
  )
}

const programRefusal = (code: string, message: string): Outcome =>
  failed(code, message, { notices: [{ code: `protocol_violation.${code}`, message }] })
