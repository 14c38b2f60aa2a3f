import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, serveTurns } from '../http.ts'
import { addingScript, type PeerModule } from '../script.ts'
import type { Measured } from './measured.ts'

const clients = 32

/** Runs the clients in this process, and the server in another one. */
export async function measure(
  module: PeerModule,
  { name, isQuick }: { readonly name: string; readonly isQuick: boolean },
): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-peers-'))
  const server = spawn(process.execPath, [join(import.meta.dirname, '..', 'workload.ts'), 'serve', name, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const port = await new Promise<number>((resolve, reject) => {
      server.stdout.on('data', (bytes: Buffer) => resolve(Number(bytes.toString())))
      server.once('exit', () => reject(new Error('the server ended')))
    })
    const base = `http://127.0.0.1:${port}`
    const askOnce = module.ask ?? ask
    let turns = 0
    const runClients = async (milliseconds: number) => {
      const started = performance.now()
      const end = started + milliseconds
      let finished = 0
      const client = async (index: number) => {
        while (performance.now() < end) {
          await askOnce(base, `c${index}-${turns++}`, 'Add up.')
          finished++
        }
      }
      await Promise.all(Array.from({ length: clients }, (_, index) => client(index)))
      return (finished * 1000) / (performance.now() - started)
    }
    await runClients(isQuick ? 300 : 1_000)
    return { turns: await runClients(isQuick ? 1_000 : 3_000) }
  } finally {
    server.kill('SIGKILL')
    await sleep(50)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The server: it prints its port, and runs until it is killed. */
export async function serve(module: PeerModule, folder: string): Promise<void> {
  const peer = await module.open({ script: addingScript(3, { beforeResponse: () => sleep(20) }), folder })
  const { port } = peer.serve ? await peer.serve() : await serveTurns(peer)
  console.log(port)
}
