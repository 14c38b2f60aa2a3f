import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const quiet = ['--ignore-scripts', '--no-audit', '--no-fund']

/** Installs the packages of a framework into its folder. Returns undefined, or the reason why the installation failed. */
export async function install(name: string): Promise<string | undefined> {
  const folder = join(import.meta.dirname, name)
  try {
    if (name === 'daybook') await installDaybook(folder)
    else if (!isInstalled(folder)) await run('npm', ['ci', ...quiet], { cwd: folder, timeout: 240_000 })
    return undefined
  } catch (error) {
    return `npm could not install it: ${reasonOf(error)}`
  }
}

/** Packs this checkout and installs the package, so that the bench measures the code that users get. */
async function installDaybook(folder: string): Promise<void> {
  const target = mkdtempSync(join(tmpdir(), 'daybook-pack-'))
  try {
    await run('npm', ['pack', '--pack-destination', target], { cwd: root, timeout: 240_000, maxBuffer: 1e8 })
    const packed = join(target, readdirSync(target).find((file) => file.endsWith('.tgz')) as string)
    rmSync(join(folder, 'node_modules', 'daybook'), { recursive: true, force: true })
    await run('npm', ['install', '--no-save', '--no-package-lock', ...quiet, packed], { cwd: folder, timeout: 240_000 })
  } finally {
    rmSync(target, { recursive: true, force: true })
  }
}

function isInstalled(folder: string): boolean {
  const [lock, installed] = [join(folder, 'package-lock.json'), join(folder, 'node_modules', '.package-lock.json')]
  return !existsSync(lock) || (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs)
}

/** The part of an error of npm that says what is wrong. */
function reasonOf(error: unknown): string {
  const { stderr = '', message } = error as { stderr?: string; message: string }
  const line = stderr.split('\n').find((each) => /^npm error (?!code|errno)/.test(each))
  return (line?.replace('npm error ', '') ?? message.split('\n')[0] ?? '').slice(0, 200)
}

/** The version of the first package that a framework is imported from. */
export function versionOf(name: string): string | undefined {
  const mainPackage: Readonly<Record<string, string>> = {
    daybook: 'daybook',
    pi: '@earendil-works/pi-agent-core',
    'ai-sdk': 'ai',
    'openai-agents': '@openai/agents',
    langgraph: '@langchain/langgraph',
    mastra: '@mastra/core',
    flue: '@flue/runtime',
  }
  const file = join(import.meta.dirname, name, 'node_modules', mainPackage[name] ?? '', 'package.json')
  if (mainPackage[name] === undefined || !existsSync(file)) return undefined
  return `${mainPackage[name]} ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`
}
