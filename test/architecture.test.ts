import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { expect, it } from 'vitest'

/** The parts that each part may import. A part may always import itself. */
const mayImport: Record<string, readonly string[]> = {
  core: [],
  ports: ['core'],
  adapters: ['core', 'ports', 'offline'], // one adapter may not import another adapter; `modelFrom` imports `offline`
  offline: ['core', 'ports'],
  tools: ['core', 'ports'],
  agent: ['core', 'ports', 'tools'],
  client: ['core'],
  testing: ['core', 'ports', 'adapters', 'offline', 'tools', 'agent'], // published as `daybook/testing`
  server: ['core', 'agent'],
  config: ['core'],
  wiring: ['core', 'ports', 'adapters', 'offline', 'tools', 'agent', 'config'],
  'index.ts': ['core', 'ports', 'tools', 'agent', 'wiring'], // the entry of the package; `wiring` makes the defaults
  cli: ['core', 'agent', 'client', 'server', 'config', 'wiring', 'testing'], // `daybook torture` is in `testing`
}

const loadsUserFiles = ['cli/modules/load-module.ts', 'testing/torture/place.ts']

interface Source {
  readonly path: string
  readonly text: string
}
interface Import {
  readonly to: string
  readonly typeOnly: boolean
}

const partOf = (path: string) => path.split('/')[0] as string
/** The folder of an adapter, or the part of any other file. Imports inside of one unit are always allowed. */
const unitOf = (path: string) => (partOf(path) === 'adapters' ? path.split('/').slice(0, 2).join('/') : partOf(path))

function sourcesUnder(root: string): readonly Source[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && !path.endsWith('.test.ts') && !path.endsWith('.d.ts'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/**
 * Removes comments, because they may contain text that looks like an import. Keeps strings, because they may contain text that looks like a
 * comment.
 */
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

function forbiddenImports(sources: readonly Source[]): readonly string[] {
  return sources.flatMap((source) => [
    ...importsOf(source)
      .filter(({ to }) => unitOf(to) !== unitOf(source.path) && !mayImport[partOf(source.path)]?.includes(partOf(to)))
      .map(({ to }) => `${source.path} -> ${to}`),
    ...indirectImports(source).map((to) => `${source.path} -> ${to}`),
  ])
}

/**
 * Imports that `mayImport` does not cover: imports by the public name of the package, and imports with a computed name. Only the files in
 * `loadsUserFiles` may compute names, because they load files of the user.
 */
function indirectImports({ path, text }: Source): readonly string[] {
  const code = withoutComments(text)
  const packageNames = [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"`](daybook(?:\/[^'"`]*)?)['"`]/g)].map(
    ([, name]) => name as string,
  )
  const computed = loadsUserFiles.includes(path)
    ? []
    : [...code.matchAll(/\bimport\((?!\s*(?:'[^']*'|"[^"]*"|`[^`$]*`)\s*[,)])/g)].map(() => 'a computed name')
  return [...packageNames, ...computed]
}

function impurities(sources: readonly Source[]): readonly string[] {
  const outsideWorld =
    /\b(Date\.now|new Date(?:\(\s*\)|\b(?!\())|Math\.random|randomUUID|process\.|fetch\(|setTimeout|performance\.|toLocale|localeCompare|Intl\.)/
  const foreign = /\b(?:from|import)\s*\(?\s*['"`](?!zod['"`])[\w@#]/
  return sources
    .filter(({ path }) => partOf(path) === 'core')
    .filter(({ text }) => outsideWorld.test(withoutComments(text)) || foreign.test(withoutComments(text)))
    .map(({ path }) => path)
}

/** Finds import cycles. Type imports are not counted, because the compiler removes them. */
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

const sources = sourcesUnder('src')

it('parts import only the parts that they may', () => {
  expect(forbiddenImports(sources)).toEqual([])
})

it('every source file belongs to a part that mayImport lists', () => {
  expect(sources.filter(({ path }) => mayImport[partOf(path)] === undefined).map(({ path }) => path)).toEqual([])
})

it('core uses no clock, no randomness and no I/O', () => {
  expect(impurities(sources)).toEqual([])
})

it('no value imports form a cycle', () => {
  expect(valueCycles(sources)).toEqual([])
})

/**
 * The folders of the page that each of its folders may import. `primitives` and `model` know nothing else, `data` has the state,
 * `markdown` shows texts, features show the rest, and only the app puts features together.
 */
const pageMayImport = (part: string): readonly string[] => {
  if (part === 'primitives' || part === 'model') return []
  if (part === 'data') return ['model']
  if (part === 'markdown') return ['primitives', 'model'] // the texts of answers and files
  if (part.includes('.')) return [...pageParts, 'theme.css'] // main.tsx and app.tsx
  return ['primitives', 'model', 'data', 'markdown', 'routes.ts']
}
const pageSources = sourcesUnder('ui/src').filter(({ path }) => !path.endsWith('.test.tsx'))
const pageParts = [...new Set(pageSources.map(({ path }) => partOf(path)))]

function forbiddenPageImports(given: readonly Source[]): readonly string[] {
  return given.flatMap((source) => {
    const part = partOf(source.path)
    const allowed = part === 'routes.ts' ? [] : pageMayImport(part)
    const wrong = importsOf(source).filter(({ to }) => partOf(to) !== part && !allowed.includes(partOf(to)))
    const packages = [...withoutComments(source.text).matchAll(/\bfrom\s*['"](daybook[^'"]*)['"]/g)].filter(
      ([, name]) => name !== 'daybook/client',
    )
    return [...wrong.map(({ to }) => `${source.path} -> ${to}`), ...packages.map(([, name]) => `${source.path} -> ${name}`)]
  })
}

it('no feature of the page imports another feature, and its model imports nothing', () => {
  expect(forbiddenPageImports(pageSources)).toEqual([])
  expect(valueCycles(pageSources)).toEqual([])
})

it('the check of the page finds imports that break its rules', () => {
  const text = (path: string) => `import { x } from '${path}'`
  const broken = [
    { path: 'model/a.ts', text: text('../data/b.ts') },
    { path: 'data/b.ts', text: text('../chat/c.tsx') },
    { path: 'chat/c.tsx', text: text('../settings/d.tsx') },
    { path: 'settings/d.tsx', text: text('../../../src/core/json.ts') },
    { path: 'primitives/e.tsx', text: text('daybook/core') },
  ]
  expect(forbiddenPageImports(broken)).toHaveLength(broken.length)
})

it('these checks find every violation in test/fixtures/broken-layout, which breaks each rule', () => {
  const broken = sourcesUnder('test/fixtures/broken-layout')
  expect(forbiddenImports(broken)).toEqual([
    'adapters/queue/inline.ts -> adapters/store/memory.ts',
    'core/clockwork.ts -> adapters/store/memory.ts',
    'core/disguised.ts -> adapters/store/memory.ts',
    'core/disguised.ts -> adapters/queue/inline.ts',
    'tools/roundabout.ts -> daybook/adapters/store/memory',
    'tools/roundabout.ts -> a computed name',
  ])
  expect(impurities(broken)).toEqual(['core/clockwork.ts', 'core/disguised.ts', 'core/sorted.ts'])
  expect(valueCycles(broken)).toEqual(['core/day.ts -> core/night.ts -> core/day.ts'])
})
