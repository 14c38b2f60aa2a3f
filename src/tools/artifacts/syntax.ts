import { Worker } from 'node:worker_threads'

/** More is not checked: a check is a courtesy, not a gate. */
const maxCheckedLength = 1_000_000

type SyntaxCheck = (text: string) => string | undefined | Promise<string | undefined>

/** JSX has no check: nothing on board reads it, and a wrong alarm is worse than none. */
const checksByExtension: ReadonlyMap<string, SyntaxCheck> = new Map<string, SyntaxCheck>([
  ['json', jsonProblem],
  ...['js', 'mjs', 'cjs'].map((extension): [string, SyntaxCheck] => [extension, (text) => compileProblem(text, 'javascript')]),
  ...['ts', 'mts', 'cts'].map((extension): [string, SyntaxCheck] => [extension, (text) => compileProblem(text, 'typescript')]),
  ['html', htmlProblem],
  ['htm', htmlProblem],
  ['py', pythonProblem],
])

/** What keeps a text from being what its name says; undefined when nothing does, or when nobody here can tell. Nothing is ever run. */
export async function syntaxProblem(name: string, text: string): Promise<string | undefined> {
  if (text === '') return 'the file is empty now'
  if (text.length > maxCheckedLength) return undefined
  return checksByExtension.get(/\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? '')?.(text)
}

function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof SyntaxError ? error.message : undefined
  }
}

/**
 * Compiles and never runs. In a thread of its own: a text that is nested deep enough breaks the TypeScript reader for the rest of the
 * thread's life, and the reader that loads our own sources is the same one. Only a syntax error is a verdict; a compiler that gave
 * up has none.
 */
const compilerProgram = `
const { parentPort, workerData } = require('node:worker_threads')
const vm = require('node:vm')
const { stripTypeScriptTypes } = require('node:module')
process.removeAllListeners('warning')
const lineOf = (error) => /:(\\d+)$/.exec(String(error.stack).split('\\n', 1)[0])?.[1]
const attempt = (compile) => {
  try {
    compile()
    return { fits: true }
  } catch (error) {
    return error.name === 'SyntaxError' ? { line: lineOf(error), message: error.message } : {}
  }
}
const { text, language } = workerData
const strip = () => attempt(() => stripTypeScriptTypes(text, { mode: 'transform' }))
const javascript = () => {
  const module = attempt(() => new vm.SourceTextModule(text))
  if (module.fits) return module
  const script = attempt(() => new vm.Script(text, { filename: 'script' }))
  return script.fits || script.message === module.message ? script : module
}
parentPort.postMessage(language === 'typescript' ? strip() : javascript())
`

const maxCompileMs = 5_000

export async function compileProblem(text: string, language: 'javascript' | 'typescript'): Promise<string | undefined> {
  const worker = new Worker(compilerProgram, {
    eval: true,
    workerData: { text, language },
    env: {},
    execArgv: ['--experimental-vm-modules'],
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  })
  try {
    const { message, line } = await awaitVerdict(worker)
    return message === undefined ? undefined : line === undefined ? message : `line ${line}: ${message}`
  } finally {
    await worker.terminate()
  }
}

interface Verdict {
  readonly message?: string
  readonly line?: string
}

function awaitVerdict(worker: Worker): Promise<Verdict> {
  return new Promise((resolve) => {
    const giveUp = () => resolve({})
    const timer = setTimeout(giveUp, maxCompileMs)
    worker.once('message', resolve)
    worker.once('error', giveUp) // out of memory: no verdict
    worker.once('exit', () => {
      clearTimeout(timer)
      giveUp()
    })
  })
}

/** Elements whose content is not markup: one that is not closed swallows the rest of the page. */
const rawTextElements = /<(!--|script|style|textarea|title)(?=[\s>/-])/gi

/** Browsers forgive everything else. */
export function htmlProblem(html: string): string | undefined {
  const opening = new RegExp(rawTextElements)
  for (let found = opening.exec(html); found; found = opening.exec(html)) {
    const name = (found[1] as string).toLowerCase() // the expression names one
    const end = name === '!--' ? endOfComment(html, found.index) : endOfElement(html, name, opening.lastIndex)
    if (end === undefined) return `line ${lineNumberAt(html, found.index)}: ${name === '!--' ? 'a comment' : `<${name}>`} is not closed`
    opening.lastIndex = end
  }
  return undefined
}

function endOfComment(html: string, from: number): number | undefined {
  const end = html.indexOf('-->', from + 2)
  return end === -1 ? undefined : end + 3
}

function endOfElement(html: string, name: string, from: number): number | undefined {
  const closing = new RegExp(`</${name}[\\s>/]`, 'gi')
  closing.lastIndex = from
  return closing.exec(html) ? closing.lastIndex : undefined
}

const lineNumberAt = (text: string, index: number) => text.slice(0, index).split('\n').length

const openingBrackets: ReadonlyMap<string, string> = new Map([
  [')', '('],
  [']', '['],
  ['}', '{'],
])

// A comment, a triple-quoted string, a string of one line, a bracket. An opening without its end matches as the opening alone.
const pythonTokens = /#[^\n]*|("""|''')(?:(?:\\[\s\S]|(?!\1)[^\\])*\1)?|(["'])(?:(?:\\[\s\S]|(?!\2)[^\\\n])*\2)?|[()[\]{}]/g

/** Brackets that pair and strings that end: what a patch breaks most often. Nothing else of Python is looked at. */
export function pythonProblem(source: string): string | undefined {
  const open: { readonly bracket: string; readonly index: number }[] = []
  for (const { 0: token, 1: triple, 2: quote, index } of source.matchAll(pythonTokens)) {
    if (token === triple) return `line ${lineAt(source, index)}: a string in triple quotes is not closed`
    if (token === quote) return `line ${lineAt(source, index)}: a string is not closed`
    if ('([{'.includes(token)) open.push({ bracket: token, index })
    const partner = openingBrackets.get(token)
    if (partner !== undefined && open.pop()?.bracket !== partner) return `line ${lineAt(source, index)}: "${token}" closes nothing`
  }
  const last = open.at(-1)
  return last && `line ${lineAt(source, last.index)}: "${last.bracket}" is not closed`
}

const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length
