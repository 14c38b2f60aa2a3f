import type { Visibility } from '../block/index.ts'
import { isObject, parseJson } from '../json.ts'

/** A file that a program has to produce. The contract of the call declares it. */
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

/** A problem of a contract, or of one of its files. */
export interface ContractProblem {
  readonly error: ContractError
  /** A sentence for the model, without its full stop. */
  readonly message: string
}

/** The files that a program has to produce, or the problems of their declaration. */
export type Contract =
  | { readonly ok: true; readonly files: readonly ContractedFile[] }
  | { readonly ok: false; readonly problems: readonly ContractProblem[] }

/** The most problems that are reported for one contract. */
export const maxContractProblems = 8

/** Reads a contract. It is given as a list of files, or as the JSON text of such a list. `resolveContract` also checks the paths. */
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

const refused = (error: ContractError, message: string): Contract => ({ ok: false, problems: [{ error, message }] })

/** The declared file, or a clause that describes its problem. Models also write `filepath` for `filename`. */
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

/** Short unique ids of files. An id is the name without folders and extension. The second file of a name gets the number 2, and so on. */
export function artifactIds(filenames: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  const last = new Map<string, number>()
  return filenames.map((filename) => {
    const stem = stemOf(filename)
    let number = (last.get(stem) ?? 0) + 1
    while (taken.has(numbered(stem, number))) number++ // a file may already be called `a_2`
    last.set(stem, number)
    taken.add(numbered(stem, number))
    return numbered(stem, number)
  })
}

const stemOf = (filename: string) => (filename.split('/').at(-1) ?? filename).replace(/\.[^.]*$/, '') || 'file'
const numbered = (stem: string, number: number) => (number === 1 ? stem : `${stem}_${number}`)
