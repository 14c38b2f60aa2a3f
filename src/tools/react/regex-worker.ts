import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Tries a model's regular expressions where they can be stopped: some of them would run for years. */
export interface RegexMatcher {
  names(paths: readonly string[]): Promise<readonly boolean[]>
  lines(text: string, most: number, of: string): Promise<LineMatches>
  close(): void
}

export interface LineMatches {
  readonly lines: number
  readonly matches: readonly { readonly line: number; readonly preview: string }[]
  readonly more: boolean
}

/** Threw nothing and found nothing: it took too long. */
export class RegexLimitError extends Error {
  override readonly name = 'TooSlow'
}

/** For one file; a thread that is busy elsewhere must not be taken for one that is lost. */
const BUDGET_MS = 1_000
const MAX_LINE_LENGTH = 10_000
const MAX_PREVIEW_LENGTH = 400

// Runs in a thread of its own. A string, so that it runs the same from sources and from the built package.
const program = `
const { parentPort, workerData } = require('node:worker_threads')
const { nameRegex, pattern, contextLines, longestLine, longestPreview } = workerData
const name = nameRegex === undefined ? undefined : new RegExp(nameRegex)
const content = pattern === undefined ? undefined : new RegExp(pattern)
const names = (paths) => paths.map((path) => name === undefined || name.test(path))
function lines(text, most) {
  const all = text.split(/\\r\\n|\\n/)
  const matches = []
  for (let at = 0; at < all.length; at++) {
    if (!content.test(all[at].slice(0, longestLine))) continue
    if (matches.length >= most) return { lines: all.length, matches, more: true }
    const around = all.slice(Math.max(0, at - contextLines), at + contextLines + 1).join('\\n')
    matches.push({ line: at + 1, preview: around.slice(0, longestPreview) })
  }
  return { lines: all.length, matches, more: false }
}
parentPort.on('message', ({ paths, text, most }) => parentPort.postMessage(paths ? names(paths) : lines(text, most)))
`

export function createRegexMatcher(options: {
  readonly name_regex?: string | undefined
  readonly pattern?: string | undefined
  readonly context_lines: number
}): RegexMatcher {
  const { name_regex: nameRegex, pattern, context_lines: contextLines } = options
  let running: Promise<Worker> | undefined

  async function start(): Promise<Worker> {
    const workerData = { nameRegex, pattern, contextLines, longestLine: MAX_LINE_LENGTH, longestPreview: MAX_PREVIEW_LENGTH }
    const started = new Worker(program, { eval: true, workerData, env: {}, resourceLimits: { maxOldGenerationSizeMb: 256 } })
    started.on('error', () => {}) // out of memory while nobody waits for it: whoever asks next is not answered in time
    await once(started, 'online') // how long that takes says nothing of the pattern
    return started
  }

  async function ask<T>(question: object, of: string): Promise<T> {
    running ??= start()
    const asked = await running
    const answered = Promise.withResolvers<T>()
    const timer = setTimeout(() => answered.reject(new RegexLimitError(`it takes too long on ${of}`)), BUDGET_MS)
    const failed = () => answered.reject(new RegexLimitError(`it needs too much memory on ${of}`))
    asked.once('message', answered.resolve)
    asked.once('error', failed)
    asked.postMessage(question)
    try {
      return await answered.promise
    } finally {
      clearTimeout(timer)
      asked.off('message', answered.resolve)
      asked.off('error', failed)
    }
  }

  return {
    names: async (paths) => (nameRegex === undefined ? paths.map(() => true) : ask({ paths }, 'the names')),
    lines: (text, most, of) => ask({ text, most }, of),
    close: () => void running?.then((worker) => worker.terminate()).catch(() => {}), // one that never started need not end
  }
}
