import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PeerModule } from '../script.ts'
import type { Measured } from './measured.ts'

const program = `
const before = process.cpuUsage()
for (const name of JSON.parse(process.argv[1])) await import(name)
const { user, system } = process.cpuUsage(before)
console.log((user + system) / 1000)
process.exit(0)`

/** The imports run in a new process in the folder of the framework, because this process has already imported the modules. */
export async function measure(module: PeerModule, { folder }: { readonly folder: string }): Promise<Measured> {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(module.imports)], { cwd: folder })
  const modules = join(folder, 'node_modules')
  const required = requiredPackages(folder, module.imports.map(packageOf))
  const megabytes = (bytes: number) => bytes / 1e6
  return {
    cpu: Number(output.toString().trim().split('\n').at(-1)),
    size: megabytes(sizeOf(modules)),
    required: megabytes([...required].reduce((sum, each) => sum + sizeOf(each, 'node_modules'), 0)),
    packages: required.size,
  }
}

/** The size of all files below a folder, without the subfolders with this name. */
function sizeOf(path: string, without?: string): number {
  const status = lstatSync(path)
  if (status.isSymbolicLink()) return 0
  if (!status.isDirectory()) return status.size
  return readdirSync(path).reduce((sum, name) => (name === without ? sum : sum + sizeOf(join(path, name), without)), 0)
}

const packageOf = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

/** The folders of the packages that are installed with `--omit=optional`: the packages with these names, and what they depend on. */
function requiredPackages(folder: string, names: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const add = (name: string, from: string) => {
    const target = findPackage(name, from)
    if (target === undefined || found.has(target)) return
    found.add(target)
    visit(target)
  }
  const visit = (from: string) => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as {
      dependencies?: object
      optionalDependencies?: object
    }
    for (const name of Object.keys(dependencies)) if (!(name in optionalDependencies)) add(name, from)
  }
  visit(folder)
  for (const name of names) add(name, folder)
  return found
}

function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return candidate
  }
  return undefined
}
