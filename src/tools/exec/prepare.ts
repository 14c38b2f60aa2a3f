import type { Notice } from '../../core/block/index.ts'
import type { ContractedFile } from '../../core/contract/contract.ts'
import { type PathRewrite, resolveContract } from '../../core/contract/contract-paths.ts'
import { normalizeTarget, type TargetScope } from '../../core/path/physical.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import { isThenable, messageForModel } from '../invoke.ts'
import { failed } from '../outcome.ts'
import type { Call, Outcome, Tool } from '../tool.ts'
import { contractMovedNotice, contractRefusal, programNameNotice, programPathsNotice } from './notices.ts'

type Params = Parameters<Tool['run']>[0]

/**
 * The same tool, which runs only with a program and a contract that can be kept, and is given the contract as a list of physical paths.
 * What was changed or may surprise is said with its outcome, and stops nothing.
 */
export function withContract(tool: Tool): Tool {
  return {
    ...tool,
    run(params, call) {
      const noProgram = programProblem(call.code)
      if (noProgram) return noProgram
      const scope = { currentTurn: call.origin.turnId, knownTurns: knownTurns(call.timeline) }
      const contract = resolveContract(ownParam(params, 'contract'), scope)
      if (!contract.ok) return contractRefusal(tool.id, contract.problems)
      const name = movedProgramName(ownParam(params, 'prog_name'), scope)
      const foreign = undeclaredPaths(call, contract.files)
      const notices = [
        ...(contract.rewrites.length > 0 ? [contractMovedNotice(tool.id, contract.rewrites)] : []),
        ...(name ? [programNameNotice(tool.id, name)] : []),
        ...(foreign.length > 0 ? [programPathsNotice(tool.id, foreign)] : []),
      ]
      const ready = { ...params, contract: contract.files, ...(name && { prog_name: name.normalized }) }
      return notices.length === 0 ? tool.run(ready, call) : runWithNotices(notices, tool, ready, call)
    },
  }
}

const ownParam = (params: Params, name: string): unknown => (Object.hasOwn(params, name) ? params[name] : undefined)

/** Also when it breaks: what was said of the call may be why. */
function runWithNotices(notices: readonly Notice[], tool: Tool, params: Params, call: Call): Outcome | Promise<Outcome> {
  const said = (outcome: Outcome): Outcome => ({ ...outcome, notices: [...notices, ...(outcome.notices ?? [])] })
  const broken = (error: unknown) => failed('tool_call_error', messageForModel(error), { notices })
  try {
    const running = tool.run(params, call)
    return isThenable(running) ? Promise.resolve(running).then(said, broken) : said(running)
  } catch (error) {
    return broken(error)
  }
}

/**
 * The other parameter of an exec call that may be a path: what the program is to be called. Mostly it is only a name, so nothing is
 * asked of it; but what points into another turn, where nothing is written, is moved into this one.
 */
function movedProgramName(name: unknown, scope: TargetScope): PathRewrite | undefined {
  if (typeof name !== 'string') return undefined
  const target = normalizeTarget(name, scope)
  return target.ok && target.rewrite?.notify ? target.rewrite : undefined
}

/** Of files that a program declared, and of the folders they are in, it knows where they are; others it may take for an earlier turn's. */
function undeclaredPaths({ code = '', origin: { turnId } }: Call, files: readonly ContractedFile[]): readonly PathRewrite[] {
  const isDeclared = (path: string) => files.some(({ filename }) => `${filename}/`.startsWith(`${path}/`))
  return mentionedPaths(code)
    .map((original) => ({ original, normalized: `${turnId}/${original}` }))
    .filter(({ normalized }) => !isDeclared(normalized))
}

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

/** A path below the turn's folder. Not the rest of a longer one (`turn_1/files/a`), nor what is joined onto one (`root / "files/a"`). */
const relativePath = /(?<![\w./\\~-])(?<!\/\s{0,8}["'`])(?:files|outputs|attachments)\/[^\s"'`\\<>|*?,;:()[\]{}$]*/g

const maxPathLength = 255

/** A program that lists more is a table of files: the first are enough to be told of. */
const maxPaths = 1_000

/** The files and folders of its turn that a program speaks of, each once and in order, as it would read them in the turn's folder. */
export function mentionedPaths(program: string): readonly string[] {
  const found = new Set<string>()
  for (const [token] of program.matchAll(relativePath)) {
    const path = token.replace(/\/$/, '')
    if (!found.has(path) && path.length <= maxPathLength && unsafeReason(path) === undefined) found.add(path)
    if (found.size === maxPaths) break
  }
  return [...found]
}
