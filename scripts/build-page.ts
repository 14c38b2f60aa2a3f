// Builds the page of `ui/` into `ui/dist`, which the server serves. Does nothing if the page was built from the same files.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const record = join(root, 'ui/dist/built-from.json')

/** Files that affect the built page although no module of the page imports them. */
const alwaysRead = ['ui/index.html', 'ui/vite.config.ts', 'ui/package.json', 'package-lock.json', 'scripts/build-page.ts']

interface BuildRecord {
  readonly hash: string
  readonly files: readonly string[]
}

/** Builds the page if it is missing or if a file that it was built from has changed. */
export async function buildPage(): Promise<'built' | 'up to date'> {
  if (isUpToDate()) return 'up to date'
  rmSync(record, { force: true })
  const { build } = await import('vite')
  const modules = new Set<string>()
  const collect = {
    name: 'collect-modules',
    moduleParsed: ({ id }: { readonly id: string }) => void modules.add(id.replace(/[?].*$/, '')),
  }
  // vitest sets this variable to `test`. With this value, the build would contain the slow development version of React
  const environment = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  try {
    await build({ configFile: join(root, 'ui/vite.config.ts'), mode: 'production', logLevel: 'warn', plugins: [collect] })
  } finally {
    if (environment === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = environment
  }
  const own = [...modules].filter((id) => id.startsWith(root) && !id.includes('node_modules')).map((id) => relative(root, id))
  const files = [...new Set([...alwaysRead, ...own])].filter((path) => existsSync(join(root, path))).sort()
  const built: BuildRecord = { hash: hashOf(files), files }
  writeFileSync(record, JSON.stringify(built))
  return 'built'
}

function isUpToDate(): boolean {
  if (!existsSync(record)) return false
  const { hash, files } = JSON.parse(readFileSync(record, 'utf8')) as BuildRecord // this script wrote the record
  return files.every((path) => existsSync(join(root, path))) && hashOf(files) === hash
}

function hashOf(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of files)
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0')
  return hash.digest('hex')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(`the page is ${await buildPage()}`)
