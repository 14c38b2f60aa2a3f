import type { Visibility } from '../block/index.ts'
import { isObject, parseJson } from '../json.ts'

/** A file that the contract declares. The program must write it. */
export interface ContractedFile {
  readonly filename: string
  readonly description: string
  readonly visibility: Visibility
}

export type ContractError =
  | 'missing_artifacts'
  | 'invalid_artifacts_json'
  | 'invalid_artifacts'
  | 'invalid_artifact_spec'
  | 'invalid_filename'

/** A problem of the whole contract or of one of its files. */
export interface ContractProblem {
  readonly error: ContractError
  /** A sentence for the model, without the full stop at its end. */
  readonly message: string
}

/** The declared files, or the problems of an invalid contract. */
export type Contract =
  | { readonly ok: true; readonly files: readonly ContractedFile[] }
  | { readonly ok: false; readonly problems: readonly ContractProblem[] }

/** The greatest number of problems that are reported for one contract. */
export const maxContractProblems = 8

/**
 * Reads a contract. It may be a list of files, or the JSON text of a list. The paths of the files are not checked; `resolveContract` does
 * that.
 */
export function readContract(given: unknown): Contract {
  if (given === undefined || given === null || (typeof given === 'string' && given.trim() === ''))
    return refused('missing_artifacts', 'It is missing')
  const list = typeof given === 'string' ? parseJson(given) : given
  if (list === undefined) return refused('invalid_artifacts_json', 'Its text is not JSON')
  if (!Array.isArray(list)) return refused('invalid_artifacts', 'It is not a list')
  if (list.length === 0) return refused('missing_artifacts', 'It is empty')
  const files: ContractedFile[] = []
  const problems: ContractProblem[] = []
  for (const [index, item] of list.entries()) {
    const file = parseFile(item)
    if (typeof file !== 'string') files.push(file)
    else if (problems.push({ error: 'invalid_artifact_spec', message: `File ${index + 1} ${file}` }) === maxContractProblems) break
  }
  return problems.length === 0 ? { ok: true, files } : { ok: false, problems }
}

/**
 * True when the contract of a call lets users see the program and the parameters of the call.
 * - All declared files are for users: true.
 * - A declared file is internal: false, because the program may contain the content of this file.
 * - The contract is missing or invalid: false if the call has a program (`hasCode`). Without a program, the parameter `contract` may be
 *   anything, so the result is true.
 */
export function hasPublicContract(given: unknown, hasCode: boolean): boolean {
  const contract = readContract(given)
  return contract.ok ? contract.files.every(({ visibility }) => visibility === 'external') : !hasCode
}

const refused = (error: ContractError, message: string): Contract => ({ ok: false, problems: [{ error, message }] })

/**
 * The declared file. For an invalid file, the result is the end of a sentence about the problem, such as `is no object`. The name may be in
 * `filename` or in `filepath`, because models use both names.
 */
function parseFile(item: unknown): ContractedFile | string {
  if (!isObject(item)) return 'is no object'
  const { description, visibility } = item
  const names = [item.filename, item.filepath].filter(isNonBlank)
  const [filename, other = filename] = names
  if (filename === undefined) return 'has no filename'
  if (other !== filename) return 'has two names, filename and filepath'
  if (!isNonBlank(description)) return 'has no description'
  if (visibility !== undefined && visibility !== null && visibility !== 'external' && visibility !== 'internal')
    return 'has a visibility that there is not'
  return { filename, description, visibility: visibility === 'internal' ? 'internal' : 'external' }
}

const isNonBlank = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/**
 * Makes a short unique id for each file: its name without folders and extension. If several files have the same name, the second gets the
 * suffix `_2`, and so on.
 */
export function artifactIds(filenames: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  const last = new Map<string, number>()
  return filenames.map((filename) => {
    const stem = stemOf(filename)
    let number = (last.get(stem) ?? 0) + 1
    while (taken.has(numbered(stem, number))) number++ // a file that is itself named `a_2` may already have this id
    last.set(stem, number)
    taken.add(numbered(stem, number))
    return numbered(stem, number)
  })
}

const stemOf = (filename: string) => (filename.split('/').at(-1) ?? filename).replace(/\.[^.]*$/, '') || 'file'
const numbered = (stem: string, number: number) => (number === 1 ? stem : `${stem}_${number}`)
