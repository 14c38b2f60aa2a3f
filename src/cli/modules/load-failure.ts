import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { errorMessage } from '../../core/failure.ts'
import { type ModuleLoad, withoutLoadNumbers } from './load-module.ts'

/** Says why a module of the user could not be loaded, with the place in the user's files, such as `tools.ts:12:5`. */
export function loadFailureText(path: string, folder: string, load: ModuleLoad, error: unknown): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 'there is no such file'
  if (found.isDirectory()) return 'it is a folder; name a file in it'
  const place = findInStack(load, error) ?? placeOfMissingImport(load, error) ?? placeOfSyntaxError(load, error)
  const message = withoutLoadNumbers(errorMessage(error))
  return place === undefined ? message : `${message} (${placeText(place, folder)})`
}

/**
 * The first place in the stack of an error that is in one of the user's files, such as `tools.ts:12:5`. Undefined if there is no such
 * place.
 */
export function placeInStack(load: ModuleLoad, folder: string, error: unknown): string | undefined {
  const place = findInStack(load, error)
  return place && placeText(place, folder)
}

const placeText = ({ file, position }: Place, folder: string) => `${relative(folder, file)}:${position}`

interface Place {
  readonly file: string
  /** The line, or the line and the column with a colon between them. */
  readonly position: string
}

function findInStack({ files }: ModuleLoad, error: unknown): Place | undefined {
  const stack = error instanceof Error ? withoutLoadNumbers(error.stack ?? '') : ''
  const places = [...files].flatMap((file) =>
    [pathToFileURL(file).href, file].flatMap((address) => {
      const at = stack.indexOf(`${address}:`)
      const position = /^\d+(?::\d+)?/.exec(stack.slice(at + address.length + 1, at + address.length + 20))?.[0]
      return at < 0 || position === undefined ? [] : [{ file, position, at }]
    }),
  )
  return places.toSorted((a, b) => a.at - b.at)[0]
}

function placeOfMissingImport({ missingImport }: ModuleLoad, error: unknown): Place | undefined {
  if (!missingImport || !(error instanceof Error && 'code' in error)) return undefined
  const { specifier, importer } = missingImport
  const index = readFileSync(importer, 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(`'${specifier}'`) || line.includes(`"${specifier}"`))
  return index < 0 ? undefined : { file: importer, position: String(index + 1) }
}

/** How many files are checked for a syntax error. Each takes about 40 ms. */
const maxCheckedFiles = 20

/**
 * The place of a syntax error. Node does not tell programs where a module has a syntax error, but it prints the place if it checks a program
 * from the standard input. The files that were found last are checked first.
 */
function placeOfSyntaxError({ files }: ModuleLoad, error: unknown): Place | undefined {
  if (!(error instanceof SyntaxError)) return undefined
  for (const file of [...files].toReversed().slice(0, maxCheckedFiles)) {
    if (!/\.[cm]?[jt]s$/.test(file)) continue
    const kind = file.endsWith('.cjs') || file.endsWith('.cts') ? 'commonjs' : 'module'
    const { status, stderr } = spawnSync(process.execPath, ['--check', `--input-type=${kind}`, '-'], {
      input: sourceOf(file),
      encoding: 'utf8',
    })
    const line = status === 0 ? undefined : /^\[stdin\]:(\d+)/m.exec(stderr)?.[1]
    if (line !== undefined) return { file, position: line }
  }
  return undefined
}

/** The JavaScript of a file. Types become spaces, so that lines and columns stay the same. */
function sourceOf(file: string): string {
  const text = readFileSync(file, 'utf8')
  return /\.[cm]?ts$/.test(file) ? stripTypeScriptTypes(text) : text
}
