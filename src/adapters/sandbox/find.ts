import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Json, parseJson } from '../../core/json.ts'
import type { Sandbox, SandboxLanguage, SandboxReport } from '../../ports/sandbox.ts'
import { type BubblewrapOptions, createBubblewrapSandbox, loaderFile, pythonPath } from './bubblewrap.ts'
import { hasFilter } from './seccomp/filter.ts'

/** The sandbox of this machine, or the reason why this machine has no sandbox. */
export type FoundSandbox =
  | { readonly sandbox: Sandbox /** What could be installed to make it more useful, as sentences. */; readonly advice: readonly string[] }
  | { readonly sandbox?: never /** Why there is no sandbox, and what to install. */; readonly reason: string }

const neededPrograms = [
  { path: '/usr/bin/bwrap', debianPackage: 'bubblewrap' },
  { path: '/usr/bin/setpriv', debianPackage: 'util-linux' },
] as const

/** Packages that programs of models often use. */
const usefulPackages = [
  { name: 'numpy', debianPackage: 'python3-numpy' },
  { name: 'pandas', debianPackage: 'python3-pandas' },
  { name: 'matplotlib', debianPackage: 'python3-matplotlib' },
] as const

/**
 * Checks whether this machine can isolate programs, by running a program in each language. These programs also print what is installed.
 * This takes a few hundred milliseconds. It never falls back to running programs without isolation.
 */
export async function findSandbox(options: Omit<BubblewrapOptions, 'languages'> = {}): Promise<FoundSandbox> {
  if (process.platform !== 'linux')
    return { reason: `programs are isolated with bubblewrap, which needs Linux (this is ${process.platform})` }
  if (!hasFilter(process.arch)) return { reason: `there is no filter of system calls for the processor ${process.arch}` }
  const missing = neededPrograms.filter(({ path }) => !existsSync(path))
  if (missing.length > 0) {
    const packages = [...new Set(missing.map(({ debianPackage }) => debianPackage))].join(' ')
    return { reason: `${missing.map(({ path }) => path).join(' and ')} is missing: install it, on Debian with apt-get install ${packages}` }
  }
  const probes = await Promise.all([probeOnce('python', options), probeOnce('javascript', options)])
  const languages = probes.flatMap(({ language }) => language ?? [])
  if (languages.length === 0) return { reason: probes.map(({ problem }) => problem).join('; ') }
  const advice = [...probes.flatMap(({ problem }) => problem ?? []), ...missingPackages(languages)]
  return { sandbox: createBubblewrapSandbox({ ...options, languages }), advice }
}

function missingPackages(languages: readonly SandboxLanguage[]): readonly string[] {
  const python = languages.find(({ id }) => id === 'python')
  const missing = python ? usefulPackages.filter(({ name }) => !python.packages.some((each) => each.name === name)) : []
  if (missing.length === 0) return []
  const names = missing.map(({ name }) => name).join(', ')
  return [`Python has no ${names}: on Debian apt-get install ${missing.map(({ debianPackage }) => debianPackage).join(' ')}`]
}

/** Programs that print what is installed for their language. */
const questions: Readonly<Record<SandboxLanguage['id'], string>> = {
  python: `
import json, platform
from importlib.metadata import distributions
packages = {d.metadata['Name']: d.version for d in distributions()}
print(json.dumps({'version': platform.python_version(), 'packages': packages}))
`,
  javascript: 'console.log(JSON.stringify({ version: process.versions.node, packages: {} }))',
}

type Probe = { readonly language: SandboxLanguage; readonly problem?: never } | { readonly language?: never; readonly problem: string }

/** The results for each language and its options. They are kept, so that a process with several agents checks a language only once. */
const found = new Map<string, Promise<Probe>>()

function probeOnce(id: SandboxLanguage['id'], options: Omit<BubblewrapOptions, 'languages'>): Promise<Probe> {
  const key = JSON.stringify([id, options])
  const probing = found.get(key) ?? probe(id, options)
  found.set(key, probing)
  const forget = () => found.delete(key) // a failure is not kept, because what is missing now may be installed later
  probing.then(({ problem }) => problem !== undefined && forget(), forget)
  return probing
}

async function probe(id: SandboxLanguage['id'], options: Omit<BubblewrapOptions, 'languages'>): Promise<Probe> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-probe-'))
  try {
    await mkdir(join(folder, 'out/turn'), { recursive: true })
    await mkdir(join(folder, 'work'))
    const report = await createBubblewrapSandbox({ ...options, languages: [{ id, version: '', packages: [] }] }).run({
      execId: 'probe',
      language: id,
      code: questions[id],
      folders: { out: join(folder, 'out'), turn: 'turn', work: join(folder, 'work'), context: {} },
      timeoutSeconds: 30,
      signal: new AbortController().signal,
      answer: () => Promise.reject(new Error('not available')),
    })
    const language = languageIn(id, report)
    return language ? { language } : { problem: problemOf(id, report) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Why a language can not be used. If a program failed, the last line of its output usually names the cause. */
function problemOf(id: SandboxLanguage['id'], { end, log }: SandboxReport): string {
  const name = id === 'python' ? 'Python' : 'JavaScript'
  if (id === 'python' && !existsSync(pythonPath)) return 'Python is not installed: on Debian apt-get install python3'
  const cause = 'message' in end ? end.message : log.trim().split('\n').at(-1)
  const advice = end.kind === 'not_started' && namespaceErrors.some((text) => end.message.includes(text)) ? namespaceAdvice : ''
  return `${name} programs can not run in a sandbox here: ${cause}${advice}`
}

const namespaceErrors = ['namespace', 'Operation not permitted', 'uid map']
const namespaceAdvice =
  '. This machine or container does not let programs make user namespaces. See kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns, and the security options of the container'

function languageIn(id: SandboxLanguage['id'], { end, log }: SandboxReport): SandboxLanguage | undefined {
  const answer =
    end.kind === 'exited' && end.exitCode === 0 ? (parseJson(log) as { version?: Json; packages?: Json } | undefined) : undefined
  if (typeof answer?.version !== 'string' || answer.packages === null || typeof answer.packages !== 'object') return undefined
  const packages = Object.entries(answer.packages)
    .map(([name, version]) => ({ name, version: String(version) }))
    .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1))
  return { id, version: answer.version, packages, loader: readFileSync(loaderFile(id), 'utf8') }
}
