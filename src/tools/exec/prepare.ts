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
 * Wraps an exec tool, so that it runs only with a program and a valid contract. The tool gets the contract as a list of files with physical
 * paths. If a path had to be changed, the tool still runs, and a notice in the outcome tells the model the new path.
 */
export function withContract(tool: Tool): Tool {
  return {
    ...tool,
    run(params, call) {
      const refusal = programProblem(call)
      if (refusal) return refusal
      const scope = { currentTurn: call.origin.turnId, knownTurns: knownTurns(call.timeline) }
      const contract = resolveContract(ownParam(params, 'contract'), scope)
      if (!contract.ok) return contractRefusal(tool.id, contract.problems)
      const name = movedProgramName(ownParam(params, 'prog_name'), scope)
      const undeclared = undeclaredPaths(call, contract.files)
      const notices = [
        ...(contract.rewrites.length > 0 ? [contractMovedNotice(tool.id, contract.rewrites)] : []),
        ...(name ? [programNameNotice(tool.id, name)] : []),
        ...(undeclared.length > 0 ? [programPathsNotice(tool.id, undeclared)] : []),
      ]
      const prepared = { ...params, contract: contract.files, ...(name && { prog_name: name.normalized }) }
      return notices.length === 0 ? tool.run(prepared, call) : runWithNotices(notices, tool, prepared, call)
    },
  }
}

const ownParam = (params: Params, name: string): unknown => (Object.hasOwn(params, name) ? params[name] : undefined)

/**
 * Runs the tool and adds the notices to its outcome. If the tool throws, the notices are added to the failed outcome, because a changed
 * path may be the cause of the error.
 */
function runWithNotices(notices: readonly Notice[], tool: Tool, params: Params, call: Call): Outcome | Promise<Outcome> {
  const withNotices = (outcome: Outcome): Outcome => ({ ...outcome, notices: [...notices, ...(outcome.notices ?? [])] })
  const failedCall = (error: unknown) => failed('tool_call_error', messageForModel(error), { notices })
  try {
    const running = tool.run(params, call)
    return isThenable(running) ? Promise.resolve(running).then(withNotices, failedCall) : withNotices(running)
  } catch (error) {
    return failedCall(error)
  }
}

/** The new path of a program whose name is a path in another turn. Undefined when the name needs no change. */
function movedProgramName(name: unknown, scope: TargetScope): PathRewrite | undefined {
  if (typeof name !== 'string') return undefined
  const target = normalizeTarget(name, scope)
  return target.ok && target.rewrite?.notify ? target.rewrite : undefined
}

/**
 * Relative paths in the program that are neither files of the contract nor folders of such files. The model may mean a file of an earlier
 * turn by such a path, but the program runs in the folder of the current turn.
 */
function undeclaredPaths({ code = '', origin: { turnId } }: Call, files: readonly ContractedFile[]): readonly PathRewrite[] {
  const isDeclared = (path: string) => files.some(({ filename }) => `${filename}/`.startsWith(`${path}/`))
  return mentionedPaths(code)
    .map((original) => ({ original, normalized: `${turnId}/${original}` }))
    .filter(({ normalized }) => !isDeclared(normalized))
}

/** Matches text that does not belong to a program: a channel tag, or a backtick at the beginning. */
const protocolMarkup = /<\/?(?:channel:|thinking>)|^\s*`/i

/** The outcome of a call whose code channel is empty or contains more than a program. Undefined when the program is acceptable. */
function programProblem({ code, dialect }: Pick<Call, 'code' | 'dialect'>): Outcome | undefined {
  if (code === undefined || code.trim() === '')
    return programRefusal(
      'exec_missing_code',
      dialect === 'native'
        ? 'There is no program: nothing ran. Call the tool again with the whole program, as plain text, in the parameter program.'
        : 'There is no program: nothing ran. Send the call again, and the whole program after it, as plain text in <channel:code>…</channel:code>.',
    )
  if (!protocolMarkup.test(code)) return undefined
  return programRefusal(
    'exec_code_contaminated',
    dialect === 'native'
      ? 'The parameter program holds something that is no program, a tag of the protocol or a backtick at its beginning: nothing ran. Call the tool again with the program alone, without tags and without a fence.'
      : 'The code channel holds something that is no program, a tag of the protocol or a backtick at its beginning: nothing ran. Send the call again with the program alone in <channel:code>, without tags and without a fence.',
  )
}

const programRefusal = (code: string, message: string): Outcome =>
  failed(code, message, { notices: [{ code: `protocol_violation.${code}`, message }] })

/**
 * Matches a path such as `files/a`, which is relative to the folder of the turn. It does not match inside a longer path (`turn_1/files/a`),
 * and not where the program joins paths (`root / "files/a"`).
 */
const relativePath = /(?<![\w./\\~-])(?<!\/\s{0,8}["'`])(?:files|outputs|attachments)\/[^\s"'`\\<>|*?,;:()[\]{}$]*/g

const maxPathLength = 255

const maxPaths = 1_000

/** The relative paths of files and folders in a program, in order and without duplicates. Exported for its test. */
export function mentionedPaths(program: string): readonly string[] {
  const paths = new Set<string>()
  for (const [token] of program.matchAll(relativePath)) {
    const path = token.replace(/\/$/, '')
    if (!paths.has(path) && path.length <= maxPathLength && unsafeReason(path) === undefined) paths.add(path)
    if (paths.size === maxPaths) break
  }
  return [...paths]
}
