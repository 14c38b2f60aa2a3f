import { Worker } from 'node:worker_threads'

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
