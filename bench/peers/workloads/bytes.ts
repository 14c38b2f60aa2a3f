import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addingScript, type PeerModule } from '../script.ts'
import type { Measured } from './measured.ts'

const rounds = 10

export async function measure(module: PeerModule, { isQuick }: { readonly isQuick: boolean }): Promise<Measured> {
  const turns = isQuick ? 30 : 100
  const folder = mkdtempSync(join(tmpdir(), 'daybook-peers-'))
  try {
    const peer = await module.open({ script: addingScript(rounds), folder })
    const [written, times]: [number[], number[]] = [[], []]
    for (let turn = 0; turn < turns; turn++) {
      const [before, started] = [bytesWritten(), performance.now()]
      await peer.turn('c', 'Add up.')
      times.push((performance.now() - started) / rounds)
      written.push((bytesWritten() - before) / rounds / 1024)
    }
    await peer.close()
    return {
      first: mean(written.slice(1, 11)),
      last: mean(written.slice(-10)),
      firstMs: median(times.slice(1, 11)),
      lastMs: median(times.slice(-10)),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] as number

/** The number of bytes that this process has passed to the system. Only Linux counts these bytes. */
const bytesWritten = () => Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
