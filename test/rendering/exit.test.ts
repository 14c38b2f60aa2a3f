import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hasBrowser } from './render.ts'

const program = join(import.meta.dirname, '..', 'support', 'rendering-process.ts')

/** Starts a process that has made one PDF, so that its browser is warm. */
async function startRenderer(): Promise<{ readonly child: ChildProcess; readonly browser: number }> {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('exit', (code) => reject(new Error(`the process ended with ${code}`)))
  })
  const browser = processes().find(({ parent, command }) => parent === child.pid && command.includes('~NOTFOUND'))
  if (!browser) throw new Error('no browser found')
  return { child, browser: browser.pid }
}

/** The processes of this machine. */
function processes() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
        return [{ pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8') }]
      } catch {
        return [] // it has ended
      }
    })
}

const isRunning = (pid: number) => processes().some((each) => each.pid === pid && each.command !== '') // a dead process has no command

describe.skipIf(!hasBrowser || process.platform !== 'linux')('the browser', () => {
  it('ends when the renderer is closed', async () => {
    const { child, browser } = await startRenderer()
    child.stdin?.end('close') // the process closes its renderer and then has nothing to do
    await new Promise((resolve) => child.once('exit', resolve))
    expect(child.exitCode).toBe(0)
    await expect.poll(() => isRunning(browser)).toBe(false)
  })

  it('ends when its process is killed', async () => {
    const { child, browser } = await startRenderer()
    child.kill('SIGKILL')
    await expect.poll(() => isRunning(browser)).toBe(false)
  })
})
