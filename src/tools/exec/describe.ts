import type { Sandbox, SandboxLanguage } from '../../ports/sandbox.ts'
import type { Tool } from '../tool.ts'

/** The names of the languages in texts. */
export const languageNames = { python: 'Python', javascript: 'JavaScript' } as const satisfies Record<SandboxLanguage['id'], string>

/** The rules of an exec tool for the model: where files are, what is installed, limits, and how a program reads context and calls tools. */
export function sandboxConstraints(sandbox: Sandbox, language: SandboxLanguage, callable: readonly Tool[]): readonly string[] {
  return [
    `${programKinds[language.id]} It runs in the folder of this turn, with its files/, outputs/ and attachments/. A file of an earlier turn is read-only at OUTPUT_DIR/<turn>/…, after react.pull.`,
    'a file that the contract does not name is not handed over; WORKDIR is a folder for temporary files, and CONTEXT_DIR has timeline.json and sources_pool.json; these names are variables of the program',
    installedText(language),
    limitsText(sandbox),
    ...usageText(language, callable),
  ]
}

const programKinds = {
  python: 'the program may use await at its top level.',
  javascript: 'the program is an ES module and may use await at its top level.',
} as const satisfies Record<SandboxLanguage['id'], string>

const maxPackages = 60

function installedText({ id, packages }: SandboxLanguage): string {
  const names = packages.slice(0, maxPackages).map(({ name, version }) => `${name} ${version}`)
  const more = packages.length > maxPackages ? ` and ${packages.length - maxPackages} more` : ''
  const standard = id === 'python' ? 'the standard library' : 'the modules of Node.js'
  const installed = names.length === 0 ? `only ${standard}` : `${standard}, ${names.join(', ')}${more}`
  return `available: ${installed}; there is no network, and nothing can be installed`
}

function limitsText({ limits }: Sandbox): string {
  const megabytes = (bytes: number) => `${Math.floor(bytes / 1024 / 1024)} MiB`
  return [
    `limits: ${limits.defaultSeconds} s (timeout_s: at most ${limits.maxSeconds})`,
    `${megabytes(limits.memoryBytes)} of memory`,
    `${limits.processes} processes`,
    `${megabytes(limits.fileBytes)} for a file`,
    `${limits.newFiles} new files with ${megabytes(limits.newBytes)}`,
  ].join(', ')
}

/** How a program reads the conversation and calls tools. The libraries of the sandbox define these functions. */
function usageText({ id }: SandboxLanguage, callable: readonly Tool[]): readonly string[] {
  const [fetching, calling] =
    id === 'python'
      ? ['fetch_ctx("so:sources_pool[1,3]")', 'await tool_call("<id>", {"<name>": value}, "why")']
      : ['await fetch_ctx("so:sources_pool[1,3]")', 'await tool_call("<id>", { name: value }, "why")']
  const context = `to read paths (ar: tc: so: su: fi: ks: sk:) in code: ${fetching} gives {ret, err} and never fails; so: gives a list of rows, other paths give {path, mime, payload, text or base64}`
  if (callable.length === 0) return [context]
  const ids = callable.map((tool) => tool.id).join(', ')
  return [context, `to call ${ids} in code: ${calling} gives {ok, error, ret}; any other tool is an exception in code`]
}
