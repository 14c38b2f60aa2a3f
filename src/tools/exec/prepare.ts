import type { Notice } from '../../core/block/index.ts'
import type { ContractedFile } from '../../core/contract/contract.ts'
import { type PathRewrite, resolveContract } from '../../core/contract/contract-paths.ts'
import { normalizeTarget, type TargetScope } from '../../core/path/target.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import { messageForModel } from '../invoke.ts'
import { failed } from '../outcome.ts'
import { isThenable } from '../thenable.ts'
import type { Call, Outcome, Tool } from '../tool.ts'
import { mentionedPaths } from './mentions.ts'
import { contractMovedNotice, contractRefusal, programNameNotice, programPathsNotice } from './notices.ts'
import { programProblem } from './program.ts'

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
        ...(contract.moved.length > 0 ? [contractMovedNotice(tool.id, contract.moved)] : []),
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
