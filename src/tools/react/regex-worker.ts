import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'

/** Runs regular expressions of the model in a worker thread. Some expressions would run for years, and a worker thread can be stopped. */
export interface RegexMatcher {
  /** Tests each path with `name_regex`. */
  names(paths: readonly string[]): Promise<readonly boolean[]>
  /** Finds at most `max` lines that match `pattern`. Error messages contain `file`. */
  lines(text: string, max: number, file: string): Promise<LineMatches>
  close(): void
}

/** The matching lines of a text. */
interface LineMatches {
  /** The number of lines in the whole text. */
  readonly lines: number
  readonly matches: readonly { readonly line: number; readonly preview: string }[]
  /** True when there are more matches than requested. */
  readonly more: boolean
}

/** Thrown when a regular expression takes too much time or memory. */
export class RegexLimitError extends Error {
  override readonly name = 'RegexLimitError'
}

/** The time limit for one file. It is much longer than a search usually takes, because the thread may have to wait on a busy machine. */
const BUDGET_MS = 1_000
const MAX_LINE_LENGTH = 10_000
const MAX_PREVIEW_LENGTH = 400

// The program of the worker is a string and not a file, because a file would have another path and extension in the built package.
const program = `
const { parentPort, workerData } = require('node:worker_threads')
const { nameRegex, pattern, contextLines, maxLineLength, maxPreviewLength } = workerData
const name = nameRegex === undefined ? undefined : new RegExp(nameRegex)
const content = pattern === undefined ? undefined : new RegExp(pattern)
const names = (paths) => paths.map((path) => name === undefined || name.test(path))
function lines(text, max) {
  const all = text.split(/\\r\\n|\\n/)
  if (all.at(-1) === '') all.pop() // a newline at the end begins no line
  const matches = []
  for (let at = 0; at < all.length; at++) {
    if (!content.test(all[at].slice(0, maxLineLength))) continue
    if (matches.length >= max) return { lines: all.length, matches, more: true }
    const around = all.slice(Math.max(0, at - contextLines), at + contextLines + 1).join('\\n')
    matches.push({ line: at + 1, preview: around.slice(0, maxPreviewLength).replace(/[\\ud800-\\udbff]$/, '') })
  }
  return { lines: all.length, matches, more: false }
}
parentPort.on('message', ({ paths, text, max }) => parentPort.postMessage(paths ? names(paths) : lines(text, max)))
`

/** Creates a matcher. It starts its worker thread at the first request. `close` stops the thread. */
export function createRegexMatcher(options: {
  readonly name_regex?: string | undefined
  readonly pattern?: string | undefined
  readonly context_lines: number
}): RegexMatcher {
  const { name_regex: nameRegex, pattern, context_lines: contextLines } = options
  let running: Promise<Worker> | undefined

  async function start(): Promise<Worker> {
    const workerData = { nameRegex, pattern, contextLines, maxLineLength: MAX_LINE_LENGTH, maxPreviewLength: MAX_PREVIEW_LENGTH }
    const { Worker } = process.getBuiltinModule('node:worker_threads') // loaded on demand, because few agents need it
    const worker = new Worker(program, {
      eval: true,
      workerData,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    })
    // Without this listener, an error of the thread between two requests would end the process. With this listener, the next request times
    // out instead.
    worker.on('error', () => {})
    await once(worker, 'online') // the time limit does not include the time for starting the thread
    return worker
  }

  async function ask<T>(question: object, subject: string): Promise<T> {
    running ??= start()
    const worker = await running
    const answer = Promise.withResolvers<T>()
    const timer = setTimeout(() => answer.reject(new RegexLimitError(`it takes too long on ${subject}`)), BUDGET_MS)
    const fail = () => answer.reject(new RegexLimitError(`it needs too much memory on ${subject}`))
    worker.once('message', answer.resolve)
    worker.once('error', fail)
    worker.postMessage(question)
    try {
      return await answer.promise
    } finally {
      clearTimeout(timer)
      worker.off('message', answer.resolve)
      worker.off('error', fail)
    }
  }

  return {
    names: async (paths) => (nameRegex === undefined ? paths.map(() => true) : ask({ paths }, 'the names')),
    lines: (text, max, file) => ask({ text, max }, file),
    close: () => void running?.then((worker) => worker.terminate()).catch(() => {}), // a worker that failed to start need not be stopped
  }
}
