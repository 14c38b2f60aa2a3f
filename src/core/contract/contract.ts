import type { Visibility } from '../block/index.ts'
import { isObject, parseJson } from '../json.ts'

/** A file that a program is to leave, as its call declares it. */
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

/** What is wrong with a contract, or with one of its files. */
export interface ContractProblem {
  readonly error: ContractError
  /** A sentence without its full stop. */
  readonly message: string
}

export type Contract =
  | { readonly ok: true; readonly files: readonly ContractedFile[] }
  | { readonly ok: false; readonly problems: readonly ContractProblem[] }

/** More would not be mended any sooner. */
export const maxContractProblems = 8

/** The files of a contract, which is a list or the JSON text of one. Whether they can be where they are said to be is judged by `placeContract`. */
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
    const file = declaredFile(item)
    if (typeof file !== 'string') files.push(file)
    else if (problems.push({ error: 'invalid_artifact_spec', message: `File ${index + 1} ${file}` }) === maxContractProblems) break
  }
  return problems.length === 0 ? { ok: true, files } : { ok: false, problems }
}

const refused = (error: ContractError, what: string): Contract => ({ ok: false, problems: [{ error, message: what }] })

/** The file, or what is wrong with it. `filename` is how we write it; `filepath` is taken for the same. */
function declaredFile(item: unknown): ContractedFile | string {
  if (!isObject(item)) return 'is no object'
  const { description, visibility } = item
  const names = [item.filename, item.filepath].filter(isNonBlank)
  const [filename, other = filename] = names
  if (filename === undefined) return 'has no filename'
  if (other !== filename) return 'has two names, filename and filepath'
  if (!isNonBlank(description)) return 'has no description'
  if (isGiven(visibility) && visibility !== 'external' && visibility !== 'internal') return 'has a visibility that there is not'
  return { filename, description, visibility: visibility === 'internal' ? 'internal' : 'external' }
}

const isNonBlank = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
const isGiven = (value: unknown) => value !== undefined && value !== null

/** What each file is called for short: its name without folders and extension, numbered from the second of the same name on. */
export function artifactIds(filenames: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  const last = new Map<string, number>()
  return filenames.map((filename) => {
    const stem = stemOf(filename)
    let number = (last.get(stem) ?? 0) + 1
    while (taken.has(numbered(stem, number))) number++ // a file may be called `a_2`
    last.set(stem, number)
    taken.add(numbered(stem, number))
    return numbered(stem, number)
  })
}

const stemOf = (filename: string) => (filename.split('/').at(-1) ?? filename).replace(/\.[^.]*$/, '') || 'file'
const numbered = (stem: string, number: number) => (number === 1 ? stem : `${stem}_${number}`)
