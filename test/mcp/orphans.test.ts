import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { startHost } from './host-process.ts'
import { scriptedServer } from './servers.ts'

/** Whether a process runs. A dead process whose parent has not noticed it has no command. */
function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}

describe.skipIf(process.platform !== 'linux')('no server survives the process that started it, however that process ends', () => {
  it.each(['good', 'ignoresend', 'child'])('%s', async (mode) => {
    const { program, pids } = scriptedServer(mode)
    const host = await startHost({ demo: program }, tmpdir())
    host.write('demo echo')
    await host.until(/"kind":"result"/)
    const processes = pids()
    expect(processes).toHaveLength(mode === 'child' ? 2 : 1)
    expect(processes.filter(isAlive)).toEqual(processes)
    await host.kill()
    await expect.poll(() => processes.filter(isAlive), { timeout: 30_000 }).toEqual([])
  })

  it('and a server that has ended by itself leaves no process of Daybook behind', async () => {
    const { program, pids } = scriptedServer('crash')
    const host = await startHost({ demo: program }, tmpdir())
    const before = childrenOf(host.child.pid)
    host.write('demo misbehave')
    await host.until(/"kind":"lost"/)
    await expect.poll(() => pids().filter(isAlive)).toEqual([])
    await expect.poll(() => childrenOf(host.child.pid)).toEqual(before)
  })
})

const childrenOf = (pid: number | undefined): string => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
