import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'

/** Who may open whose door. A room may always import itself; nothing else is implied. */
const mayImport: Record<string, readonly string[]> = {
  core: [],
  ports: ['core'],
  adapters: ['core', 'ports', 'offline'], // an adapter folder may not import another one; `modelFrom` opens the offline model by name
  offline: ['core', 'ports'],
  tools: ['core', 'ports'],
  agent: ['core', 'ports', 'tools'],
  client: ['core'],
  testing: ['core', 'ports', 'adapters', 'offline', 'tools', 'agent'], // shipped: scripted model, harness, conformance
  server: ['core', 'agent'],
  'config.ts': ['core'],
  'wiring.ts': ['core', 'ports', 'adapters', 'offline', 'tools', 'agent', 'config.ts'],
  'index.ts': ['core', 'ports', 'tools', 'agent', 'wiring.ts'], // the door fills defaults
  cli: ['core', 'agent', 'client', 'server', 'config.ts', 'wiring.ts'],
}

interface Source {
  readonly path: string
  readonly text: string
}
interface Import {
  readonly to: string
  readonly typeOnly: boolean
}

const floor = (path: string) => path.split('/')[0] as string
const room = (path: string) => (floor(path) === 'adapters' ? path.split('/').slice(0, 2).join('/') : floor(path))

function sourcesUnder(root: string): readonly Source[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && !path.endsWith('.test.ts') && !path.endsWith('.d.ts'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** Comments may speak of imports; only code makes them. A string may hold what looks like a comment: strings are passed over. */
const withoutComments = (text: string) =>
  text.replace(/('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, (_, string = '') => string)

function importsOf({ path, text }: Source): readonly Import[] {
  const code = withoutComments(text)
  const statements = code.matchAll(/\b(?:import|export)\s+(type\s)?(?:[\w$*\s{},]*?\sfrom\s*)?['"](\.[^'"]+)['"]/g)
  const calls = code.matchAll(/\bimport\(\s*['"`](\.[^'"`$]+)['"`]/g)
  const resolve = (to: string) => relative('.', join(path, '..', to))
  return [
    ...[...statements].map(([, type, to]) => ({ to: resolve(to as string), typeOnly: type !== undefined })),
    ...[...calls].map(([, to]) => ({ to: resolve(to as string), typeOnly: false })),
  ]
}

function trespasses(sources: readonly Source[]): readonly string[] {
  return sources.flatMap((source) => [
    ...importsOf(source)
      .filter(({ to }) => room(to) !== room(source.path) && !mayImport[floor(source.path)]?.includes(floor(to)))
      .map(({ to }) => `${source.path} -> ${to}`),
    ...detours(source).map((to) => `${source.path} -> ${to}`),
  ])
}

/** Ways around the table: through our own front door, or by a name that is only known when it runs, which the wiring alone may use. */
function detours({ path, text }: Source): readonly string[] {
  const code = withoutComments(text)
  const doors = [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"`](daybook(?:\/[^'"`]*)?)['"`]/g)].map(([, door]) => door as string)
  const computed =
    path === 'wiring.ts' ? [] : [...code.matchAll(/\bimport\((?!\s*(?:'[^']*'|"[^"]*"|`[^`$]*`)\s*[,)])/g)].map(() => 'anywhere')
  return [...doors, ...computed]
}

function impurities(sources: readonly Source[]): readonly string[] {
  const world =
    /\b(Date\.now|new Date(?:\(\s*\)|\b(?!\())|Math\.random|randomUUID|process\.|fetch\(|setTimeout|performance\.|toLocale|localeCompare|Intl\.)/
  const foreign = /\b(?:from|import)\s*\(?\s*['"`](?!zod['"`])[\w@#]/
  return sources
    .filter(({ path }) => floor(path) === 'core')
    .filter(({ text }) => world.test(withoutComments(text)) || foreign.test(withoutComments(text)))
    .map(({ path }) => path)
}

/** Cycles over value imports: type imports are erased and may point anywhere the arrows allow. */
function valueCycles(sources: readonly Source[]): readonly string[] {
  const edges = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source)
        .filter(({ typeOnly }) => !typeOnly)
        .map(({ to }) => to),
    ]),
  )
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
    else if (!done.has(path)) for (const next of edges.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of edges.keys()) visit(path, [])
  return cycles
}

const house = sourcesUnder('src')

it('rooms import only the rooms below them', () => {
  expect(trespasses(house)).toEqual([])
})

it('every file lives in a room that the table knows', () => {
  expect(house.filter(({ path }) => mayImport[floor(path)] === undefined).map(({ path }) => path)).toEqual([])
})

it('core has no clock, no dice and no world', () => {
  expect(impurities(house)).toEqual([])
})

it('no value import runs in a circle', () => {
  expect(valueCycles(house)).toEqual([])
})

it('sees what it guards: a planted house breaks every rule once', () => {
  const planted = sourcesUnder('test/fixtures/broken-house')
  expect(trespasses(planted)).toEqual([
    'adapters/queue/inline.ts -> adapters/store/memory.ts',
    'core/clockwork.ts -> adapters/store/memory.ts',
    'core/disguised.ts -> adapters/store/memory.ts',
    'core/disguised.ts -> adapters/queue/inline.ts',
    'tools/roundabout.ts -> daybook/adapters/store/memory',
    'tools/roundabout.ts -> anywhere',
  ])
  expect(impurities(planted)).toEqual(['core/clockwork.ts', 'core/disguised.ts', 'core/sorted.ts'])
  expect(valueCycles(planted)).toEqual(['core/day.ts -> core/night.ts -> core/day.ts'])
})
