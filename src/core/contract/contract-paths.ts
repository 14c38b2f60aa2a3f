import { snippet } from '../decision/violations.ts'
import { normalizeTarget, splitPhysical, type Target, type TargetScope } from '../path/physical.ts'
import { type Contract, type ContractedFile, type ContractProblem, maxContractProblems, readContract } from './contract.ts'

/** As many as are handed over after one call. */
export const maxContractFiles = 200

export type ResolvedContract =
  | { readonly ok: true; readonly files: readonly ContractedFile[]; readonly rewrites: readonly PathRewrite[] }
  | Extract<Contract, { readonly ok: false }>

/** A file that is not where its name says to a program that runs in the folder of its turn. */
export interface PathRewrite {
  readonly original: string
  readonly normalized: string
}

type Scope = Pick<TargetScope, 'currentTurn' | 'knownTurns'>

/** The same contract with physical paths, all in the current turn. Done twice, it changes nothing the second time. */
export function resolveContract(given: unknown, scope: Scope): ResolvedContract {
  const contract = readContract(given)
  if (!contract.ok) return contract
  const { length } = contract.files
  if (length > maxContractFiles) {
    const what = `It declares ${length} files, and ${maxContractFiles} is the most`
    return { ok: false, problems: [{ error: 'invalid_artifacts', message: what }] }
  }
  const files: ContractedFile[] = []
  const moved: PathRewrite[] = []
  const problems: ContractProblem[] = []
  const taken = new Set<string>()
  for (const [index, file] of contract.files.entries()) {
    const path = pathOf(file.filename, scope)
    const wrong = path.ok ? clash(path.physical, taken) : path.problem
    if (
      wrong &&
      problems.push({ ...wrong, message: `File ${index + 1}, ${shown(file.filename)}, ${wrong.message}` }) === maxContractProblems
    )
      break
    if (!path.ok) continue
    taken.add(path.physical)
    files.push({ ...file, filename: path.physical })
    if (isRewritten(file.filename, path.physical, scope)) moved.push({ original: file.filename, normalized: path.physical })
  }
  return problems.length === 0 ? { ok: true, files, rewrites: moved } : { ok: false, problems }
}

/** A name that was refused may hold anything. */
const shown = (filename: string) => snippet(filename).replace(/\p{C}/gu, '\ufffd')

type Path = { readonly ok: true; readonly physical: string } | { readonly ok: false; readonly problem: ContractProblem }

/** A write that names another place is moved here; a contract is not, because its program would still write to that place. */
function pathOf(filename: string, scope: Scope): Path {
  const target = normalizeTarget(filename, scope)
  if (target.ok && !target.rewrite?.notify) return { ok: true, physical: target.physical }
  return { ok: false, problem: { error: 'invalid_filename', message: whyNot(filename, target, scope) } }
}

function whyNot(filename: string, target: Target, { currentTurn, knownTurns }: Scope): string {
  if (!target.ok) return `cannot be called so: ${asClause(target.message)}`
  const fromHere = target.physical.slice(currentTurn.length + 1)
  if (filename.includes(':')) return `is a logical path: call it ${fromHere}`
  const named = splitPhysical(filename.normalize('NFC'), new Set(knownTurns).add(currentTurn))
  if (named && named.turn !== currentTurn) return `belongs to another turn: call it ${fromHere}`
  return `is among the attachments, which nobody writes: call it ${fromHere}`
}

const asClause = (sentence: string) => `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`

/** With a file that was declared before. */
function clash(physical: string, taken: ReadonlySet<string>): ContractProblem | undefined {
  const error = 'invalid_artifact_spec'
  if (taken.has(physical)) return { error, message: `is declared twice, as ${physical}` }
  for (const other of taken) {
    if (physical.startsWith(`${other}/`) || other.startsWith(`${physical}/`))
      return { error, message: `cannot be beside ${other}: one would be the folder of the other` }
  }
  return undefined
}

/** `files/a` is `<turn>/files/a` to a program in the turn's folder; `a` is not. What is only said in full is no news. */
const isRewritten = (given: string, physical: string, { currentTurn }: Scope) =>
  physical !== given && physical !== `${currentTurn}/${given}`
