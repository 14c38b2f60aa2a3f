import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { hasPostgres } from '../support/postgres.ts'
import { hasRedis } from '../support/redis.ts'

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it.skipIf(!hasPostgres)(
  'a cluster with roles answers, accepts messages while its worker is killed by command, and leaves no process behind',
  async () => {
    const cluster = spawn(
      process.execPath,
      ['scripts/cluster.ts', '--port', '0', '--roles', 'worker,web', ...(hasRedis ? ['--redis'] : [])],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const lines: string[] = []
    createInterface({ input: cluster.stdout }).on('line', (line) => lines.push(line))
    await expect.poll(() => lines.some((line) => line.includes('Ctrl-C')), { timeout: 170_000, interval: 50 }).toBe(true)
    const url = lines.find((line) => line.startsWith('daybook is at '))?.split(' ')[3] ?? ''
    const pids = lines.flatMap((line) => (line.includes(' pid ') ? [Number(line.split(' pid ')[1])] : []))
    expect(pids).toHaveLength(2)

    const client = createClient({ baseUrl: url })
    const isAnswered = async (id: string) => (await client.entries(id)).entries.some(({ change }) => change.type === 'turn.closed')
    await client.conversations.create({ id: 'c1', title: 'A cluster' })
    await client.send('c1', 'Hello.')
    await expect.poll(() => isAnswered('c1'), { timeout: 60_000, interval: 100 }).toBe(true)

    const kill = spawn(process.execPath, ['scripts/cluster.ts', 'kill', '1'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [output] = (await once(kill.stdout, 'data')) as [Buffer]
    expect(String(output)).toContain(`replica 1 was killed, pid ${pids[0]}`)
    expect(isAlive(pids[0] as number)).toBe(false)
    await client.conversations.create({ id: 'c2', title: 'While the worker is away' })
    await client.send('c2', 'Hello.')
    await expect.poll(() => lines.some((line) => line.includes('replica 1 is back')), { timeout: 60_000 }).toBe(true)
    await expect.poll(() => isAnswered('c2'), { timeout: 60_000, interval: 100 }).toBe(true)
    pids.push(Number(lines.find((line) => line.includes('is back'))?.split(' pid ')[1]))

    cluster.kill('SIGINT')
    const [code] = (await once(cluster, 'exit')) as [number]
    expect(code).toBe(0)
    expect(pids.filter(isAlive)).toEqual([])
  },
  300_000,
)
