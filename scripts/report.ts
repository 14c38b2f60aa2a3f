// Prints the sizes of source files, folders and functions. It only informs and never fails.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { filesOfToolRound } from './round-files.ts'

interface SourceFile {
  readonly path: string
  readonly lines: number
}

interface LongFunction {
  readonly name: string
  readonly path: string
  readonly lines: number
}

const files = ['src', 'ui/src'].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
    .map((name) => join(root, name))
    .map((path): SourceFile => ({ path, lines: readFileSync(path, 'utf8').split('\n').length - 1 })),
)

const sources = files.filter(({ path }) => !/\.test\.tsx?$/.test(path)).sort((a, b) => b.lines - a.lines)
const folders = [...Map.groupBy(sources, ({ path }) => dirname(path))].sort(([, a], [, b]) => b.length - a.length)
const functions = sources.flatMap(({ path }) => functionsOf(path)).sort((a, b) => b.lines - a.lines)

const total = sources.reduce((sum, { lines }) => sum + lines, 0)
const [longestFile] = sources
const [fullestFolder] = folders
const [longestFunction] = functions

console.log(`source files      ${sources.length} (${files.length - sources.length} test files beside them)`)
console.log(`lines             ${total}`)
console.log(
  `median file       ${sources[Math.floor(sources.length / 2)]?.lines} lines; under 60 lines: ${count(({ lines }) => lines < 60)}`,
)
console.log(`longest file      ${longestFile?.lines} lines, ${longestFile?.path}; over 300 lines: ${count(({ lines }) => lines > 300)}`)
console.log(`fullest folder    ${fullestFolder?.[1].length} files, ${fullestFolder?.[0]}`)
console.log(`longest function  ${longestFunction?.lines} lines, ${longestFunction?.name} in ${longestFunction?.path}`)

const unwatched = await filesOfToolRound({ watched: false })
const watched = await filesOfToolRound({ watched: true })
console.log(`a tool round      runs code of ${unwatched.length} files; ${watched.length} while a listener reads its events`)

print('the ten longest files', sources.slice(0, 10), ({ lines, path }) => [lines, path])
print('the ten fullest folders', folders.slice(0, 10), ([folder, inside]) => [inside.length, folder])
print('functions over 60 lines', functions, ({ lines, name, path }) => [lines, `${path}  ${name}`])

function count(test: (file: SourceFile) => boolean): number {
  return sources.filter(test).length
}

function print<T>(heading: string, items: readonly T[], row: (item: T) => readonly [number, string]): void {
  console.log(`\n${heading}`)
  for (const [size, text] of items.map(row)) console.log(`${String(size).padStart(6)}  ${text}`)
}

/** The functions with more than 60 lines. A function ends at the first closing brace with the indentation of its first line. */
function functionsOf(path: string): readonly LongFunction[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, start) => {
    const opening = /^( *)(?:export )?(?:async )?(?:function\*? (\w+)|const (\w+) = (?:async )?\(.*=> \{$)/.exec(line)
    if (!opening) return []
    const end = lines.findIndex((later, index) => index > start && later.startsWith(`${opening[1]}}`))
    return end - start > 60 ? [{ name: opening[2] ?? opening[3] ?? '', path, lines: end - start + 1 }] : []
  })
}
