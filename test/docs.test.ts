import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { agentPartRules, embeddingRules, folderRules } from '../src/agent/agent-options.ts'
import { createHooks } from '../src/agent/hooks.ts'
import { defaultAgentSettings } from '../src/agent/settings.ts'
import { variables } from '../src/config/config.ts'
import { defaultServerSettings } from '../src/server/settings.ts'
import { createHarness } from '../src/testing/harness.ts'
import { createCommandLine } from './support/command-line.ts'
import { operationsIn } from './support/openapi.ts'
import { closeServers, openServer } from './support/server-fixture.ts'

const pages = ['README.md', ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
)
const otherPages = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'WORDS.md']
const texts = new Map<string, string>()
function textOf(page: string): string {
  const text = texts.get(page) ?? readFileSync(page, 'utf8')
  texts.set(page, text)
  return text
}

const line = createCommandLine()
afterAll(() => line.remove())

/** The links to other files, relative to the checkout, with the name of a section if the link has one. */
const linksIn = (page: string): readonly { readonly target: string; readonly section: string | undefined }[] =>
  [...textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(([, path = '', section]) => ({
    target: path === '' ? page : normalize(join(dirname(page), path)),
    section,
  }))

/** The names of the sections of a page, as GitHub writes them in a link. */
const sectionsOf = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  )

const knownSections = new Map<string, ReadonlySet<string>>()
function sections(page: string): ReadonlySet<string> {
  const known = knownSections.get(page) ?? new Set(sectionsOf(page))
  knownSections.set(page, known)
  return known
}

it('every link in the documents leads to a file and a section that exist', () => {
  const links = [...pages, ...otherPages].flatMap((page) => linksIn(page).map((link) => ({ page, ...link })))
  expect(links.length).toBeGreaterThan(30)
  for (const { page, target, section } of links) {
    expect(() => textOf(target), `${page} -> ${target}`).not.toThrow()
    if (section !== undefined) expect(sections(target).has(section), `${page} -> ${target}#${section}`).toBe(true)
  }
})

it('docs/README.md leads to every page of the documentation, some of them through the index of the SDK or of the specification', () => {
  const indexes = ['docs/README.md', 'docs/reference/sdk.md', 'docs/spec/README.md']
  const reached = new Set(indexes.flatMap(linksIn).map(({ target }) => target))
  expect(pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md' && !reached.has(page))).toEqual([])
})

it('every file that a page of the npm package links to is in the package', () => {
  const [packed] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' })) as [
    { readonly files: readonly { readonly path: string }[] },
  ]
  const files = new Set(packed.files.map(({ path }) => path))
  const packedPages = [...pages, ...otherPages].filter((page) => files.has(page))
  expect(packedPages).toEqual(expect.arrayContaining(pages))
  expect(packedPages.flatMap(linksIn).flatMap(({ target }) => (files.has(target) ? [] : [target]))).toEqual([])
})

it('every source file that ARCHITECTURE.md names exists', () => {
  const paths = readdirSync('.', { recursive: true, encoding: 'utf8' }).filter((path) => /^(src|test|docs)\//.test(path))
  const named = [...textOf('ARCHITECTURE.md').matchAll(/`([\w./-]+\.(?:ts|md))`/g)].map(([, path]) => path as string)
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((name) => !paths.some((path) => path === name || path.endsWith(`/${name}`)))).toEqual([])
})

/** The first cells of the rows of all tables under a heading. */
function firstCells(page: string, heading: string): readonly string[] {
  const [, section = ''] = textOf(page).split(new RegExp(`^#+ ${heading}$`, 'm'))
  const rows =
    section
      .split(/^#+ /m)[0]
      ?.split('\n')
      .filter((row) => row.startsWith('| `')) ?? []
  return rows.map((row) => row.split('|')[1] as string)
}
const namesIn = (cells: readonly string[], pattern: RegExp): readonly string[] =>
  cells.flatMap((cell) => [...cell.matchAll(pattern)].map(([, name]) => name as string)).sort()

it('docs/sdk.md lists the methods of an agent and of its archive, and no others', () => {
  const { agent } = createHarness({ replies: [] })
  const cells = firstCells('docs/sdk.md', 'Methods')
  expect(namesIn(cells, /`agent\.(\w+)[(`]/g)).toEqual(Object.keys(agent).sort())
  expect(namesIn(firstCells('docs/sdk.md', 'The archive'), /`(\w+)[(`]/g)).toEqual(Object.keys(agent.archive).sort())
})

it('docs/sdk.md lists the options of createAgent, and no others', () => {
  expect(namesIn(firstCells('docs/sdk.md', 'Options'), /`(\w+)`/g)).toEqual(
    [...Object.keys(agentPartRules), ...Object.keys(folderRules), ...Object.keys(embeddingRules)].sort(),
  )
})

it('docs/sdk.md has every setting of an agent and every hook, and no setting that does not exist', () => {
  const settings = namesIn(firstCells('docs/sdk.md', 'Settings'), /`(\w+)`/g)
  expect(Object.keys(defaultAgentSettings).filter((name) => !settings.includes(name))).toEqual([])
  const optional = ['creditCap', 'maxMoney', 'maxSeconds', 'priceOf'] // these have no default
  expect(settings.filter((name) => !(name in defaultAgentSettings) && !optional.includes(name))).toEqual([])
  const named = new Set(
    textOf('docs/sdk.md')
      .split('\n')
      .flatMap((row) => (row.startsWith('| `') ? namesIn([row.split('|')[1] as string], /`(\w+)/g) : [])),
  )
  const hooks = createHooks([], { timeoutMs: 1, onError: () => {} })
  expect(Object.keys(hooks).filter((name) => !named.has(name))).toEqual([])
})

it('docs/cli.md has every setting by its name in a file and by its environment variable, and no others', () => {
  const rows = [...textOf('docs/cli.md').matchAll(/^\| `([\w.]+)`[^|]* \| `(DAYBOOK_\w+)` \|/gm)].map(([, name, variable]) => [
    name,
    variable,
  ])
  expect(Object.fromEntries(rows)).toEqual(variables)
})

it('docs/server.md has the limits of the server with their defaults', () => {
  const units: Readonly<Record<string, number>> = { MiB: 1024 * 1024, seconds: 1000 }
  const rows = [...textOf('docs/server.md').matchAll(/^\| [^|]+ \| ([\d,]+)(?: (\w+))? \| `(\w+)` \|$/gm)]
  expect(rows.length).toBeGreaterThan(5)
  for (const [, number = '', unit = '', field = ''] of rows) {
    expect({ [field]: Number(number.replaceAll(',', '')) * (units[unit] ?? 1) }).toEqual({
      [field]: defaultServerSettings[field as 'maxBodyBytes'],
    })
  }
})

it('docs/server.md lists the routes of the server, and no page names another route', async () => {
  try {
    const { client } = await openServer()
    const routes = operationsIn(await client.openapi()).map(({ method, path }) => `${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`)
    expect(namesIn(firstCells('docs/server.md', 'Routes'), /`([A-Z]+ \/[^`]*)`/g)).toEqual([...routes].sort())
    const named = pages.flatMap((page) =>
      [...textOf(page).matchAll(/`((?:GET|POST|PATCH|PUT|DELETE) \/[\w/:.-]*)`/g)].map(([, route]) => route as string),
    )
    const undocumented = ['GET /v1/openapi.json'] // the document that lists the others
    expect(named.filter((route) => !routes.includes(route) && !undocumented.includes(route))).toEqual([])
  } finally {
    await closeServers()
  }
})

/** The options of each command in its help. */
async function commandsInHelp(): Promise<Readonly<Record<string, readonly string[]>>> {
  const { text } = await line.run('--help')
  const shared = optionsIn(text)
  /** The options of a command and of the commands in it, such as `schedule add`. */
  const own = async (...names: readonly string[]): Promise<readonly string[]> => {
    const help = (await line.run(...names, '--help')).text
    const parts = await Promise.all(partsIn(help).map((part) => own(...names, part)))
    return [...optionsIn(help).filter((option) => !shared.includes(option)), ...parts.flat()].sort()
  }
  return { ...Object.fromEntries(await Promise.all(partsIn(text).map(async (name) => [name, await own(name)] as const))), '': shared }
}
const partsIn = (help: string): readonly string[] =>
  [...(help.split('\nCommands:')[1]?.split('\n\n')[0] ?? '').matchAll(/^ {2}([a-z-]+) /gm)]
    .map(([, name]) => name as string)
    .filter((name) => name !== 'help')
const optionsIn = (help: string): readonly string[] =>
  [...(help.split('Options:')[1] ?? '').matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option as string).sort()

it('docs/cli.md lists every command with its options, and no others', async () => {
  const { '': shared = [], ...commands } = await commandsInHelp()
  expect(Object.keys(commands).length).toBeGreaterThan(15)
  const rows = firstCells('docs/cli.md', 'All commands').map((cell) => {
    const row =
      textOf('docs/cli.md')
        .split('\n')
        .find((each) => each.split('|')[1] === cell) ?? ''
    return [/`daybook ([a-z]+)/.exec(cell)?.[1] ?? '', [...new Set(namesIn([row], /`(--[a-z-]+)/g))]] as const
  })
  const listed: Record<string, readonly string[]> = {}
  for (const [name, options] of rows) listed[name] = [...(listed[name] ?? []), ...options].sort()
  expect(listed).toEqual(commands)
  const known = new Set([...shared, ...Object.values(commands).flat()])
  const named = ['README.md', 'docs/cli.md'].flatMap((page) => namesIn([textOf(page)], /(?<![\w-])(--[a-z][a-z-]*)/g))
  expect(named.filter((option) => !known.has(option))).toEqual([])
})

it('no example names a turn by an id that no turn has', async () => {
  const help = await Promise.all(
    Object.keys(await commandsInHelp()).map(async (name) => (await line.run(...(name ? [name] : []), '--help')).text),
  )
  for (const text of [textOf('README.md'), textOf('docs/cli.md'), ...help]) expect(text).not.toMatch(/turn_\d{1,4}\b/)
})

it('every environment variable of Daybook that a page names exists', () => {
  const known = new Set<string>(Object.values(variables))
  const elsewhere = ['DAYBOOK_BROWSER', 'DAYBOOK_TOKEN'] // no settings: they are read where they are used
  const named = [...pages, ...otherPages].flatMap((page) => textOf(page).match(/\bDAYBOOK_[A-Z_]+\b/g) ?? [])
  expect(named.length).toBeGreaterThan(50)
  expect([...new Set(named)].filter((name) => !known.has(name) && !elsewhere.includes(name))).toEqual([])
})

it('every npm script that a page names exists', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly scripts: object }
  const mine = ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', ...pages].flatMap((page) =>
    [...textOf(page).matchAll(/(?:^|`)npm run ([\w:]+)/gm)].map(([, name]) => name as string),
  )
  expect(mine.length).toBeGreaterThan(10)
  expect([...new Set(mine)].filter((name) => !(name in scripts))).toEqual([])
})

it('the queries of docs/format.md run on the database of a data folder', async () => {
  expect((await line.run('run', 'Hello', '--conversation', 'my-conversation')).exitCode).toBe(0)
  const [, sql = ''] = textOf('docs/format.md').split('```sql\n')
  const queries = (sql.split('```')[0] ?? '').split(';\n').filter((query) => query.includes('SELECT'))
  expect(queries.length).toBe(4)
  const database = new DatabaseSync(join(line.folder, 'data', 'daybook.db'), { readOnly: true })
  for (const query of queries) expect(database.prepare(query).all().length, query).toBeGreaterThan(0)
  database.close()
})

it('docs/format.md shows the files that the data folder has', async () => {
  writeFileSync(join(line.folder, 'a.csv'), 'a,b\n1,2\n')
  expect((await line.run('run', 'Make a report file of a.csv', '--attach', 'a.csv')).exitCode).toBe(0)
  expect((await line.run('--knowledge', line.folder, 'knowledge')).exitCode).toBe(0)
  const [, tree = ''] = textOf('docs/format.md').split('.daybook/\n')
  const shown = [...(tree.split('```')[0] ?? '').matchAll(/^[├└]── ([\w.]+)/gm)].map(([, name]) => name as string)
  const real = readdirSync(join(line.folder, 'data')).filter((name) => !/-(?:wal|shm)$/.test(name))
  expect(shown.sort()).toEqual(real.sort())
})
