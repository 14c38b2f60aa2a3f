import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addingScript, type PeerModule, type Script } from '../script.ts'
import type { Measured } from './measured.ts'

const entry = join(import.meta.dirname, '..', 'workload.ts')

/** Kills a process while it runs the tool, and continues its turn in the current process. */
export async function measure(module: PeerModule, { name }: { readonly name: string }): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-peers-'))
  try {
    const victim = spawn(process.execPath, [entry, 'die', name, folder], { stdio: ['ignore', 'inherit', 'inherit'] })
    const ended = new Promise<void>((resolve) => victim.once('exit', () => resolve()))
    for (let waited = 0; countOf(folder, 'tool') === 0; waited += 20) {
      if (victim.exitCode !== null || waited > 30_000) throw new Error('the process did not reach the tool')
      await sleep(20)
    }
    victim.kill('SIGKILL')
    await ended

    const answered = countOf(folder, 'answer')
    const peer = await module.open({ script: countingScript(folder, async () => ({ sum: 3 })), folder })
    const started = performance.now()
    if (peer.resume !== undefined) await peer.resume('c')
    const isContinued = countOf(folder, 'answer') > answered
    const seconds = (performance.now() - started) / 1000
    if (!isContinued) await peer.turn('c', 'Add up.')
    await peer.close()
    const [toolRuns, paid] = [countOf(folder, 'tool'), countOf(folder, 'model')]
    return {
      continued: isContinued ? `yes, after ${seconds.toFixed(1)} s` : 'no, the user has to ask again',
      tool: toolRuns === 1 ? 'not run again' : isContinued ? 'run again, and no one is told' : 'run again, because the user asked again',
      model: paid === 2 ? '2, none twice' : `${paid}, ${paid - 2} of them twice`,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The process that is killed: its tool never ends. */
export async function die(module: PeerModule, folder: string): Promise<void> {
  const peer = await module.open({ script: countingScript(folder, () => new Promise(() => setInterval(() => {}, 1_000))), folder })
  await peer.turn('c', 'Add up.')
}

/** A script of two rounds that counts, in files, how often the tool ran and how often the model was paid. */
function countingScript(folder: string, run: () => Promise<unknown>): Script {
  const count = (what: string) => appendFileSync(join(folder, `${what}.count`), '1')
  const script = addingScript(2)
  return {
    ...script,
    run: () => {
      count('tool')
      return run()
    },
    respond: (round) => {
      count('model')
      const response = script.respond(round)
      if (response.calls.length === 0) count('answer')
      return response
    },
  }
}

function countOf(folder: string, what: string): number {
  const file = join(folder, `${what}.count`)
  return existsSync(file) ? readFileSync(file, 'utf8').length : 0
}
