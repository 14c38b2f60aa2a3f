import type { Notice } from '../../core/block/index.ts'
import type { ContractProblem } from '../../core/contract/contract.ts'
import type { PathRewrite } from '../../core/contract/contract-paths.ts'
import { snippet, violation } from '../../core/decision/violations.ts'
import { failed } from '../outcome.ts'
import type { Outcome } from '../tool.ts'

/** The outcome of a call with an invalid contract. */
export function contractRefusal(toolId: string, problems: readonly ContractProblem[]): Outcome {
  const code = 'exec_contract_invalid'
  const error = problems[0]?.error ?? 'invalid_artifacts'
  const notice = violation(code, {
    problem: `The contract of "${toolId}" cannot be kept. ${problems.map(({ message }) => `${snippet(message, 240)}.`).join(' ')}`,
    next: 'Send the call again, with its program, and with a contract such as [{"filename": "files/report.csv", "description": "…"}]: each file once, in files/ or outputs/ of this turn.',
    extra: { error, tool_id: toolId },
  })
  return failed(code, notice.message, { notices: [notice], details: { error } })
}

/** This text does not say that the tool ran. When the notice is made, the tool has not started, and it may still reject its parameters. */
const callContinued = 'This did not stop the call.'

const maxListed = 20

/** Tells the model that files of the contract were moved to the folder of the current turn. */
export function contractMovedNotice(toolId: string, moved: readonly PathRewrite[]): Notice {
  const [first, ...others] = moved.map(({ original, normalized }) => ({ original: snippet(original), relative: belowTurn(normalized) }))
  const more = others.length === 0 ? '' : `, and ${others.length} more in the same way`
  return violation('exec_contract_rewritten', {
    problem: `The contract says ${first?.original}, which was taken for ${first?.relative}${more}.`,
    effect: callContinued,
    next: `A file that the program writes anywhere else is not found: write ${first?.relative}, and declare it by that name.`,
    extra: { ...listed(moved), tool_id: toolId },
  })
}

/** Tells the model that its program got another file name, in the folder of the current turn. */
export const programNameNotice = (toolId: string, { original, normalized }: PathRewrite): Notice =>
  violation('exec_path_rewritten', {
    problem: `prog_name is ${snippet(original)}, which is not in the folder of this turn; the program is stored as ${normalized}.`,
    effect: callContinued,
    next: 'Use that path for it, or a name alone.',
    extra: { original, normalized, tool_id: toolId },
  })

/**
 * Tells the model to which files the relative paths in its program refer. The paths in the program are not changed, because a text that
 * looks like a path may be data.
 */
export function programPathsNotice(toolId: string, mentioned: readonly PathRewrite[]): Notice {
  const [first] = mentioned
  return violation('exec_code_rewritten', {
    problem: `The program was not changed. It runs in the folder of this turn: ${first?.original} is ${first?.normalized}.`,
    effect: callContinued,
    next: 'If a file of an earlier turn is meant, react.pull it and open it by its whole path, <turn>/… below OUTPUT_DIR.',
    extra: { ...listed(mentioned), tool_id: toolId },
  })
}

function listed(moved: readonly PathRewrite[]) {
  const first = moved.slice(0, maxListed)
  return { original: first.map(({ original }) => original), normalized: first.map(({ normalized }) => normalized) }
}

const belowTurn = (physical: string) => physical.slice(physical.indexOf('/') + 1)
