import type { Worker } from 'node:worker_threads'
import { extensionOf } from '../mime.ts'

/** Texts with more characters are not checked. */
const maxCheckedLength = 1_000_000

type SyntaxCheck = (text: string) => string | undefined | Promise<string | undefined>

/** The check for each extension. JSX has no check, because Node has no parser for it. */
const checksByExtension: ReadonlyMap<string, SyntaxCheck> = new Map<string, SyntaxCheck>([
  ['json', jsonProblem],
  ...['js', 'mjs', 'cjs'].map((extension): [string, SyntaxCheck] => [extension, (text) => compileProblem(text, 'javascript')]),
  ...['ts', 'mts', 'cts'].map((extension): [string, SyntaxCheck] => [extension, (text) => compileProblem(text, 'typescript')]),
  ['html', htmlProblem],
  ['htm', htmlProblem],
  ['py', pythonProblem],
])

/**
 * The first syntax error of a text. The extension of the file name decides how the text is checked. Undefined when there is no error, or
 * when there is no check for this extension. The text is only parsed, never run.
 */
export async function syntaxProblem(name: string, text: string): Promise<string | undefined> {
  if (text === '') return 'the file is empty now'
  if (text.length > maxCheckedLength) return undefined
  return checksByExtension.get(extensionOf(name))?.(text)
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
 * Compiles the text in a separate thread, without running it. Deeply nested text can break Node's TypeScript parser, so that it fails for
 * all later texts in the same thread. The main thread also needs this parser, so the text is compiled in another thread. Only a syntax
 * error is reported. After any other exception, the text is treated as correct.
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

async function compileProblem(text: string, language: 'javascript' | 'typescript'): Promise<string | undefined> {
  const { Worker } = process.getBuiltinModule('node:worker_threads') // loaded on demand, because few agents need it
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
    worker.once('error', giveUp) // the thread died, for example because it ran out of memory
    worker.once('exit', () => {
      clearTimeout(timer)
      giveUp()
    })
  })
}

/**
 * Elements whose content a browser does not parse as markup. If the closing tag is missing, the browser treats the rest of the page as
 * their content.
 */
const rawTextElements = /<(!--|script|style|textarea|title)(?=[\s>/-])/gi

/** The first comment or element of `rawTextElements` that is not closed. Other errors are not reported, because browsers tolerate them. */
function htmlProblem(html: string): string | undefined {
  const opening = new RegExp(rawTextElements)
  for (let match = opening.exec(html); match; match = opening.exec(html)) {
    const name = (match[1] as string).toLowerCase() // every match has this group
    const end = name === '!--' ? endOfComment(html, match.index) : endOfElement(html, name, opening.lastIndex)
    if (end === undefined) return `line ${lineNumberAt(html, match.index)}: ${name === '!--' ? 'a comment' : `<${name}>`} is not closed`
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

const openingBrackets: ReadonlyMap<string, string> = new Map([
  [')', '('],
  [']', '['],
  ['}', '{'],
])

// Matches a comment, a triple-quoted string, a one-line string or a bracket. For a string that is closed, group 2 or 4 captures the closing
// quotes.
const pythonTokens = /#[^\n]*|("""|''')(?:\\[\s\S]|(?!\1)[^\\])*(\1)?|(["'])(?:\\[\s\S]|(?!\3)[^\\\n])*(\3)?|[()[\]{}]/g

/** Checks only brackets and quotes, because most broken patches break these. */
function pythonProblem(source: string): string | undefined {
  const open: { readonly bracket: string; readonly index: number }[] = []
  for (const { 0: token, 1: triple, 2: tripleEnd, 3: quote, 4: quoteEnd, index } of source.matchAll(pythonTokens)) {
    if (triple !== tripleEnd) return `line ${lineNumberAt(source, index)}: a string in triple quotes is not closed`
    if (quote !== quoteEnd) return `line ${lineNumberAt(source, index)}: a string is not closed`
    if ('([{'.includes(token)) open.push({ bracket: token, index })
    const partner = openingBrackets.get(token)
    if (partner !== undefined && open.pop()?.bracket !== partner) return `line ${lineNumberAt(source, index)}: "${token}" closes nothing`
  }
  const last = open.at(-1)
  return last && `line ${lineNumberAt(source, last.index)}: "${last.bracket}" is not closed`
}

const lineNumberAt = (text: string, index: number) => text.slice(0, index).split('\n').length
