// Prints two lists of the functions of a CPU profile: those that take the most time by themselves, and those that take the most time
// together with the functions that they call. The profile is a file that `node --cpu-prof` or `npm run bench -- watched --cpu-prof
// <folder>` wrote, or a folder, whose largest profile is read.
//
//   node scripts/profile-top.ts <file or folder> [how many functions]

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { findSourceMap, SourceMap, type SourceOrigin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number; readonly columnNumber: number }
  readonly children?: readonly number[]
}

interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  /** Microseconds between each sample and the sample before it. */
  readonly timeDeltas: readonly number[]
}

const [path, count = '25'] = process.argv.slice(2)
if (path === undefined) throw new Error('name a profile: node scripts/profile-top.ts <file or folder> [how many functions]')
const file = statSync(path).isDirectory() ? largestProfile(path) : path
const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile
const maps = new Map<string, SourceMap | undefined>()
const totals = timesByFunction(profile)
const whole = [...totals.self.values()].reduce((sum, time) => sum + time, 0)
console.log(`${file}: ${(whole / 1_000).toFixed(0)} ms`)
print('by themselves', totals.self)
print('with the functions that they call', totals.total)

function largestProfile(folder: string): string {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .map((name) => join(folder, name))
  const [largest] = files.toSorted((a, b) => statSync(b).size - statSync(a).size)
  if (largest === undefined) throw new Error(`there is no profile in ${folder}`)
  return largest
}

/** The microseconds of each function. A function that calls itself counts once in `total`. */
function timesByFunction({ nodes, samples, timeDeltas }: Profile) {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]))
  const self = new Map<string, number>()
  const total = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const time = timeDeltas[index] ?? 0
    const seen = new Set<string>()
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) seen.add(names.get(at) ?? '')
    add(self, names.get(id) ?? '', time)
    for (const name of seen) add(total, name, time)
  }
  return { self, total }
}

function add(times: Map<string, number>, name: string, time: number): void {
  times.set(name, (times.get(name) ?? 0) + time)
}

/** The name and the place of a function. If the file has a source map, these are the name and the place in the source. */
function nameOf({ callFrame: { functionName, url, lineNumber, columnNumber } }: ProfileNode): string {
  const name = functionName || '(anonymous)'
  const place = url.startsWith('file:') ? placeInSource(fileURLToPath(url), lineNumber, columnNumber) : undefined
  if (place) return `${place.name ?? name} ${place.fileName.replace(/^.*\/(?=src\/)/, '')}:${place.lineNumber}`
  return `${name} ${url.split('/').slice(-2).join('/')}${url === '' ? '' : `:${lineNumber + 1}`}`
}

function placeInSource(script: string, line: number, column: number): SourceOrigin | undefined {
  const origin = sourceMapOf(script)?.findOrigin(line + 1, column + 1)
  return origin && 'fileName' in origin ? (origin as SourceOrigin) : undefined
}

/**
 * The source map of a file. The bench has removed the packages that it measured, so the map of this checkout is used for a file of a
 * package.
 */
function sourceMapOf(url: string): SourceMap | undefined {
  const script = existsSync(url) ? url : url.replace(/^.*\/node_modules\/daybook(?=\/dist\/)/, join(import.meta.dirname, '..'))
  if (!maps.has(script)) {
    const known = findSourceMap(script)
    maps.set(script, known ?? (existsSync(`${script}.map`) ? new SourceMap(JSON.parse(readFileSync(`${script}.map`, 'utf8'))) : undefined))
  }
  return maps.get(script)
}

function print(title: string, times: ReadonlyMap<string, number>): void {
  console.log(`\nfunctions ${title}`)
  const top = [...times].toSorted(([, a], [, b]) => b - a).slice(0, Number(count))
  for (const [name, time] of top) {
    console.log(`${(time / 1_000).toFixed(1).padStart(9)} ms ${((time / whole) * 100).toFixed(1).padStart(5)} %  ${name}`)
  }
}
