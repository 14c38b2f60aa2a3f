import { execFile } from 'node:child_process'
import { createRequire, findPackageJSON } from 'node:module'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { Command } from 'commander'
import type { Settings } from '../../../config/settings.ts'
import type { MachineCheck as Check } from '../../../core/api/info.ts'
import { errorMessage, installText, newerNodeText } from '../../../core/failure.ts'
import { missingForRenderer, openRenderer } from '../../../wiring/documents.ts'
import { sweepUnreferencedBlobs, type UnreferencedBlobs } from '../../../wiring/installation/unreferenced-blobs.ts'
import { describeKnowledge } from '../../../wiring/knowledge.ts'
import { type ModelKey, modelKeys } from '../../../wiring/models.ts'
import { checkSandbox } from '../../../wiring/sandbox.ts'
import { describeSkills } from '../../../wiring/skills.ts'
import { tryDialects } from '../../../wiring/try-model.ts'
import { checkWebSearch } from '../../../wiring/web-tools.ts'
import type { CommandContext } from '../../context.ts'
import { checkMcp } from '../../mcp-check.ts'
import { checkMemory } from '../../memory-check.ts'
import { withExamples } from '../../options.ts'
import { checkBlobs, checkDatabase, checkDataFolder, checkParked, formatSize } from '../../storage-check.ts'
import { printLine } from '../../terminal.ts'

/** The command `doctor`. It exits with 1 when a required check fails. */
export function doctorCommand(context: CommandContext, exit: (code: number) => void): Command {
  const { terminal, style } = context
  const command = new Command('doctor')
    .description('check what works on this machine, and what to install')
    .option('--sweep', 'first remove blobs that have belonged to no entry for more than a day; safe while a server runs')
    .action(async ({ sweep }: { sweep?: true }) => {
      const { settings, origins } = await context.settingsWithOrigins()
      if (sweep) printLine(terminal, sweepReport(await sweepUnreferencedBlobs(settings)))
      const trials = origins.model === 'flag' ? [checkModel(settings, terminal.environment)] : []
      const checks = (
        await Promise.all([
          ...[...runChecks(settings, terminal.environment), checkMcp(settings)].map(async (check) => [await check]),
          checkDatabase(settings),
          checkParked(settings),
          ...trials,
        ])
      ).flat()
      for (const { name, ok, required, found, advice } of checks) {
        const mark = ok ? style.success('✓') : required ? style.failure('✗') : style.bold('!')
        printLine(terminal, `${mark} ${name.padEnd(16)} ${ok || advice === undefined ? found : `${found}: ${advice}`}`.trimEnd())
      }
      exit(checks.some(({ ok, required }) => required && !ok) ? 1 : 0)
    })
  return withExamples(command, [
    ['daybook doctor', ''],
    ['daybook doctor --model ollama/qwen3', 'also calls the model once in each dialect, and says which of them works'],
    ['daybook doctor --sweep', 'younger blobs stay: a running server may be about to append their entry'],
  ])
}

function sweepReport(removed: UnreferencedBlobs): string {
  if (removed.blobs === 0) return 'no blob has been without an entry for more than a day: nothing was removed'
  return `removed ${removed.blobs} ${removed.blobs === 1 ? 'blob' : 'blobs'} (${formatSize(removed)}) without an entry for more than a day`
}

type Environment = Readonly<Record<string, string | undefined>>

/** The checks of `daybook doctor` for a running server. They leave out the port, because the server itself uses it. */
export const checkMachine = async (settings: Settings, environment: Environment): Promise<readonly Check[]> => [
  ...(await Promise.all(runChecks(settings, environment, []))),
  ...(await checkParked(settings)),
]

function runChecks(settings: Settings, environment: Environment, port = [checkPort(settings)]): readonly Promise<Check>[] {
  return [
    checkNode(),
    checkSqlite(),
    checkPackages(),
    checkDataFolder(settings.data),
    checkBlobs(settings),
    ...port,
    checkGit(),
    checkDocuments(settings),
    checkPrograms(settings),
    checkModelKeys(environment),
    checkSearch(settings, environment),
    checkSkills(settings),
    checkKnowledge(settings),
    checkMemory(settings, environment),
  ]
}

/**
 * Calls the model that was named with `--model` once in each dialect. The check fails only if the dialect of the settings does not work.
 */
async function checkModel({ model, dialect }: Settings, environment: Environment): Promise<readonly Check[]> {
  if (model === 'offline') return [{ name: 'model', ok: true, required: true, found: 'offline needs no provider' }]
  try {
    const { chosen, trials } = await tryDialects(model as string, { environment, dialect })
    const other = trials.find(({ ok }) => ok)?.dialect
    const advice = other === undefined ? 'choose another model' : `set DAYBOOK_DIALECT=${other}`
    return trials.map(({ dialect: tried, ok, found }) => ({
      name: `model, ${tried}`,
      ok,
      required: tried === chosen,
      found: tried === chosen && ok ? `${found}; this dialect is used` : found,
      ...(tried === chosen && { advice }),
    }))
  } catch (error) {
    return [{ name: 'model', ok: false, required: true, found: errorMessage(error) }]
  }
}

async function checkNode(): Promise<Check> {
  const ok = Number(process.versions.node.split('.')[0]) >= 24
  return { name: 'Node', ok, required: true, found: process.version, advice: newerNodeText }
}

/** Checks whether the optional packages are installed. If Node is too old for a package, npm does not install it and gives no warning. */
async function checkPackages(): Promise<Check> {
  const { optionalDependencies } = createRequire(import.meta.url)('daybook/package.json') as {
    optionalDependencies: Readonly<Record<string, string>>
  }
  const names = Object.keys(optionalDependencies)
  const missing = names.filter((name) => !isInstalled(name))
  const found = missing.length === 0 ? `all ${names.length} optional packages are installed` : `${missing.join(', ')} not installed`
  return { name: 'packages', ok: missing.length === 0, required: false, found, advice: installText(...missing) }
}

function isInstalled(packageName: string): boolean {
  try {
    return findPackageJSON(packageName, import.meta.url) !== undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return false
    throw error
  }
}

async function checkSqlite(): Promise<Check> {
  const about = { name: 'node:sqlite', required: true, advice: 'install a Node that is built with SQLite and FTS5' }
  try {
    const { DatabaseSync } = await import('node:sqlite')
    const database = new DatabaseSync(':memory:')
    database.exec('CREATE VIRTUAL TABLE words USING fts5(text)')
    const { version } = database.prepare('SELECT sqlite_version() AS version').get() as { version: string }
    database.close()
    return { ...about, ok: true, found: `${version} with FTS5` }
  } catch (error) {
    return { ...about, ok: false, found: errorMessage(error) }
  }
}

function checkPort({ host, port: number }: Settings): Promise<Check> {
  const about = { name: 'port', required: false, advice: 'a server may be running there already; choose another port with --port' }
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve({ ...about, ok: false, found: `${host}:${number} ${(error as NodeJS.ErrnoException).code}` }))
    server.listen(number, host, () => server.close(() => resolve({ ...about, ok: true, found: `${host}:${number} is free` })))
  })
}

async function checkGit(): Promise<Check> {
  const about = { name: 'git', required: false, advice: 'apt-get install git; the setting workspace=git needs it' }
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { timeout: 10_000 })
    return { ...about, ok: true, found: stdout.split('\n')[0]?.trim() ?? '' }
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return { ...about, ok: false, found: isMissing ? 'not found' : errorMessage(error) }
  }
}

/** Checks whether programs of the model can run here, by running one. Lists the languages and packages that programs can use. */
async function checkPrograms(settings: Settings): Promise<Check> {
  const about = { name: 'programs', required: false }
  if (settings.sandbox === 'off') return { ...about, ok: true, found: 'off, because of the setting sandbox' }
  const found = await checkSandbox(settings)
  if (!found.sandbox) return { ...about, ok: false, found: `off: ${found.reason}` }
  const languages = found.sandbox.languages.map(({ id, version, packages }) => {
    const names = packages.filter(({ name }) => usefulPackages.has(name.toLowerCase())).map(({ name }) => name)
    return `${id === 'python' ? 'Python' : 'JavaScript'} ${version}${names.length > 0 ? ` with ${names.join(', ')}` : ''}`
  })
  const on = `on, isolated with bubblewrap: ${languages.join('; ')}`
  return { ...about, ok: found.advice.length === 0, found: on, ...(found.advice.length > 0 && { advice: found.advice.join('; ') }) }
}

/** Packages that programs often need. `doctor` lists which of them are installed. */
const usefulPackages: ReadonlySet<string> = new Set(['numpy', 'pandas', 'matplotlib', 'scipy', 'pillow', 'openpyxl'])

/** Checks which kinds of documents the agent can make. The advice names only what is missing. */
async function checkDocuments(settings: Settings): Promise<Check> {
  const { kinds } = openRenderer(settings)
  const missing = (['pdf', 'png', 'docx', 'pptx'] as const).filter((kind) => !kinds.has(kind))
  const simple = kinds.has('pdf') && !kinds.has('png') ? ' (pdf without a browser)' : ''
  const found = kinds.size === 0 ? 'none can be made' : `${[...kinds].join(', ')} can be made${simple}`
  const parts = missingForRenderer(settings, missing)
  const needs = [
    ...(parts.packages.length > 0 ? [`the ${parts.packages.length > 1 ? 'packages' : 'package'} ${parts.packages.join(', ')}`] : []),
    ...(parts.browser
      ? [settings.browser === 'none' ? 'a browser, but the setting browser is none' : 'Chromium or Chrome (apt-get install chromium)']
      : []),
  ]
  const advice = `${missing.join(', ')} ${missing.length > 1 ? 'need' : 'needs'} ${needs.join(', and ')}`
  return { name: 'documents', ok: missing.length === 0, required: false, found, advice }
}

/**
 * Checks which keys are set. The result contains the names of the variables and not their values. No provider is asked whether a key is
 * valid.
 */
async function checkModelKeys(environment: Environment): Promise<Check> {
  const set = modelKeys.flatMap(({ variables }) => variables).filter((name) => environment[name])
  const found = set.length > 0 ? `${set.join(', ')} set` : 'none set'
  return { name: 'model keys', ok: set.length > 0, required: false, found, advice: keyAdvice(modelKeys) }
}

/** Checks which search services have a key. If the chosen service has no key, the agent can not be opened. */
async function checkSearch(settings: Settings, environment: Environment): Promise<Check> {
  const isChosen = settings.web.search !== 'auto' && settings.web.search !== 'off'
  try {
    return { name: 'web search', required: isChosen, ...checkWebSearch(settings, environment) }
  } catch (error) {
    return { name: 'web search', required: true, ok: false, found: errorMessage(error) } // for example, an address is not complete
  }
}

/** Checks whether the skills can be read. Agents leave out a skill that has a mistake. */
async function checkSkills({ skills }: Settings): Promise<Check> {
  try {
    return { name: 'skills', required: false, ...describeSkills(skills) }
  } catch (error) {
    return { name: 'skills', required: true, ok: false, found: errorMessage(error) } // such as a folder that does not exist
  }
}

/** Checks whether the folders of the knowledge base exist. `daybook knowledge` checks the documents. */
async function checkKnowledge({ knowledge }: Settings): Promise<Check> {
  try {
    return { name: 'knowledge', required: false, ok: true, found: describeKnowledge(knowledge) }
  } catch (error) {
    return { name: 'knowledge', required: true, ok: false, found: errorMessage(error) } // such as a folder that does not exist
  }
}

/** Tells which models need no key, and which variable each of the other providers needs. */
function keyAdvice(keys: readonly ModelKey[]): string {
  const keyless = ['offline', ...keys.filter(({ required }) => !required).map(({ provider }) => `${provider}/…`)]
  const needs = keys.filter(({ required }) => required).map(({ provider, variables }) => `${provider}/… needs ${variables.join(' or ')}`)
  return `${keyless.join(', ')} need no key; ${needs.join(', ')}`
}
