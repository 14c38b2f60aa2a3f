import { readFile } from 'node:fs/promises'
import type { Browser } from 'playwright-core'
import { kill, processesOf } from './warm-browser.ts'

const intervalMs = 250
const pageBytes = 4_096

/**
 * Watches the memory of the processes in which pages run. Kills a process that has more than `maxBytes`, and calls `onExceeded`. This works
 * only on Linux. On other systems, only the memory of scripts is limited. Returns a function that ends the watch.
 */
export function watchMemory(browser: Browser, maxBytes: number, onExceeded: () => void): () => void {
  let ended = false
  async function check(): Promise<void> {
    for (const { pid, type } of await processesOf(browser)) {
      if (type === 'browser' || ended || (await privateBytes(pid)) <= maxBytes) continue
      onExceeded()
      kill(pid)
    }
  }
  async function loop(): Promise<void> {
    while (!ended) {
      await new Promise<void>((resolve) => setTimeout(resolve, intervalMs).unref())
      if (!ended) await check()
    }
  }
  void loop()
  return () => {
    ended = true
  }
}

/** The memory that a process shares with no other process. 0 when the process has ended, or when the system does not report its memory. */
export async function privateBytes(pid: number): Promise<number> {
  try {
    const [, resident = '0', shared = '0'] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')
    return (Number(resident) - Number(shared)) * pageBytes
  } catch {
    return 0
  }
}
