import type { Notice } from '../../core/block/index.ts'
import type { ContractProblem } from '../../core/contract/contract.ts'
import type { PathRewrite } from '../../core/contract/contract-paths.ts'
import { snippet, violation } from '../../core/decision/violations.ts'
import { failed } from '../outcome.ts'
import type { Outcome } from '../tool.ts'

export function contractRefusal(toolId: string, problems: readonly ContractProblem[]): Outcome {
  const code = 'exec_contract_invalid'
  const error = problems[0]?.error ?? 'invalid_artifacts'
  const said = violation(code, {
    problem: `The contract of "${toolId}" cannot be kept. ${problems.map(({ message: what }) => `${snippet(what, 240)}.`).join(' ')}`,
    next: 'Send the call again, with its program, and with a contract such as [{"filename": "files/report.csv", "description": "…"}]: each file once, in files/ or outputs/ of this turn.',
    extra: { error, tool_id: toolId },
  })
  return failed(code, said.message, { notices: [said], details: { error } })
}

/** The others inform: the tool may still have refused its parameters, so they do not say that it ran. */
const callContinued = 'This did not stop the call.'

const maxListed = 20

export function contractMovedNotice(toolId: string, moved: readonly PathRewrite[]): Notice {
  const [first, ...others] = moved.map(({ original, normalized }) => ({ original: snippet(original), fromHere: belowTurn(normalized) }))
  const more = others.length === 0 ? '' : `, and ${others.length} more in the same way`
  return violation('exec_contract_rewritten', {
    problem: `The contract says ${first?.original}, which was taken for ${first?.fromHere}${more}.`,
    effect: callContinued,
    next: `A file that the program writes anywhere else is not found: write ${first?.fromHere}, and declare it by that name.`,
    extra: { ...listed(moved), tool_id: toolId },
  })
}

export const programNameNotice = (toolId: string, { original, normalized }: PathRewrite): Notice =>
  violation('exec_path_rewritten', {
    problem: `prog_name is ${snippet(original)}, where nothing is written in this turn; the program is called ${normalized}.`,
    effect: callContinued,
    next: 'Use that path for it, or a name alone.',
    extra: { original, normalized, tool_id: toolId },
  })

/** A program is never rewritten: what looks like a path in it may be data. */
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
  const told = moved.slice(0, maxListed)
  return { original: told.map(({ original }) => original), normalized: told.map(({ normalized }) => normalized) }
}

const belowTurn = (physical: string) => physical.slice(physical.indexOf('/') + 1)
