import { snippet } from '../decision/violations.ts'
import { normalizeTarget, splitPhysical, type Target, type TargetScope } from '../path/physical.ts'
import { type Contract, type ContractedFile, type ContractProblem, maxContractProblems, readContract } from './contract.ts'

/** The greatest number of files in one contract. */
export const maxContractFiles = 200

/** A contract whose filenames are physical paths in the current turn, or the problems of an invalid contract. */
export type ResolvedContract =
  | { readonly ok: true; readonly files: readonly ContractedFile[]; readonly rewrites: readonly PathRewrite[] }
  | Extract<Contract, { readonly ok: false }>

/**
 * A filename in the contract that is not the path at which the program has to write the file. For example, `original` is `a` and
 * `normalized` is `turn_1/files/a`. A program that runs in the turn's folder and opens `original` would write to another place than
 * `normalized`. Therefore a notice tells the model the right path.
 */
export interface PathRewrite {
  readonly original: string
  readonly normalized: string
}

type Scope = Pick<TargetScope, 'currentTurn' | 'knownTurns'>

/** Replaces the filenames of a contract by physical paths in the current turn. A contract that was already resolved does not change. */
export function resolveContract(given: unknown, scope: Scope): ResolvedContract {
  const contract = readContract(given)
  if (!contract.ok) return contract
  const { length } = contract.files
  if (length > maxContractFiles) {
    const message = `It declares ${length} files, and ${maxContractFiles} is the most`
    return { ok: false, problems: [{ error: 'invalid_artifacts', message }] }
  }
  const files: ContractedFile[] = []
  const rewrites: PathRewrite[] = []
  const problems: ContractProblem[] = []
  const taken = new Set<string>()
  for (const [index, file] of contract.files.entries()) {
    const path = resolvePath(file.filename, scope)
    const problem = path.ok ? findClash(path.physical, taken) : path.problem
    if (problem) problems.push({ ...problem, message: `File ${index + 1}, ${printable(file.filename)}, ${problem.message}` })
    if (problems.length === maxContractProblems) break
    if (!path.ok) continue
    taken.add(path.physical)
    files.push({ ...file, filename: path.physical })
    if (isRewritten(file.filename, path.physical, scope)) rewrites.push({ original: file.filename, normalized: path.physical })
  }
  return problems.length === 0 ? { ok: true, files, rewrites } : { ok: false, problems }
}

/** A filename for use in a message. Control characters and invisible characters are replaced. */
const printable = (filename: string) => snippet(filename).replace(/\p{C}/gu, '\ufffd')

type Path = { readonly ok: true; readonly physical: string } | { readonly ok: false; readonly problem: ContractProblem }

/**
 * The physical path of a filename. A path in the folder of another turn is rejected. `react.write` changes such a path to the folder of the
 * current turn. For a contract this is not possible, because the program contains the path, too.
 */
function resolvePath(filename: string, scope: Scope): Path {
  const target = normalizeTarget(filename, scope)
  if (target.ok && !target.rewrite?.notify) return { ok: true, physical: target.physical }
  return { ok: false, problem: { error: 'invalid_filename', message: describeProblem(filename, target, scope) } }
}

function describeProblem(filename: string, target: Target, { currentTurn, knownTurns }: Scope): string {
  if (!target.ok) return `cannot be called so: ${asClause(target.message)}`
  const relative = target.physical.slice(currentTurn.length + 1)
  if (filename.includes(':')) return `is a logical path: call it ${relative}`
  const named = splitPhysical(filename.normalize('NFC'), new Set(knownTurns).add(currentTurn))
  if (named && named.turn !== currentTurn) return `belongs to another turn: call it ${relative}`
  return `is among the attachments, which nobody writes: call it ${relative}`
}

const asClause = (sentence: string) => `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`

/**
 * The problem when two declared paths can not exist side by side: they are equal, or one of them would be a folder that contains the other.
 */
function findClash(physical: string, taken: ReadonlySet<string>): ContractProblem | undefined {
  const error = 'invalid_artifact_spec'
  if (taken.has(physical)) return { error, message: `is declared twice, as ${physical}` }
  for (const other of taken) {
    if (physical.startsWith(`${other}/`) || other.startsWith(`${physical}/`))
      return { error, message: `cannot be beside ${other}: one would be the folder of the other` }
  }
  return undefined
}

/**
 * True when a program in the turn's folder that opens `given` would not write to `physical`. For the physical path `<turn>/files/a` this is
 * true for `a`, but not for `files/a`.
 */
const isRewritten = (given: string, physical: string, { currentTurn }: Scope) =>
  physical !== given && physical !== `${currentTurn}/${given}`
