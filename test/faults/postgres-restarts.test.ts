import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { owner } from '../../src/testing/conformance/store/fixture.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { appendNumbered, checkNumbered } from '../support/crash/numbered-entries.ts'
import { runWithFaults } from '../support/load/fault-run.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'

const TIMES = 30
const names = Array.from({ length: 6 }, (_, index) => `c${index}`)

describe.skipIf(!hasPostgres)('with a server that syncs its commits to the disk', async () => {
  const server = hasPostgres ? await startPostgres({ durable: true }) : undefined
  const open = async () => createPostgresStore({ url: (await server?.createDatabase()) ?? '', clock: createSystemClock() })
  afterAll(() => server?.stop())

  it('thirty immediate restarts of the server lose and double no entry, and every append gets its answer', async (context) => {
    countAttempts(context, TIMES)
    const store = await open()
    let isOver = false
    const acknowledged = new Map<string, number>()
    const onAppended = (name: string) => (seq: number) => void acknowledged.set(name, seq)
    const writing = Promise.all(
      names.map((name) => appendNumbered(store, name, owner(name), { onAppended: onAppended(name), isOver: () => isOver })),
    )
    for (let count = 0; count < TIMES; count++) {
      // every writer goes on between two restarts: on a slow machine, one could otherwise find the server away for as long as it tries
      const before = new Map(acknowledged)
      const haveAll = () => names.every((name) => (acknowledged.get(name) ?? 0) > (before.get(name) ?? 0))
      await Promise.race([writing, expect.poll(haveAll, { interval: 5 }).toBe(true)])
      await sleep(Math.random() * 50)
      await server?.restart()
    }
    isOver = true
    await writing
    for (const name of names) expect(await checkNumbered(store, name)).toBe(acknowledged.get(name))
    expect(Math.min(...acknowledged.values())).toBeGreaterThan(TIMES)
    await store.close()
  })

  it('a process that is killed thirty times loses and doubles no entry, and the next process goes on', async (context) => {
    countAttempts(context, TIMES)
    const url = (await server?.createDatabase()) ?? ''
    const acknowledged = new Map<string, number>()
    const start = () => {
      const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-child.ts'), url, ...names], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      return { child, exited: once(child, 'exit') }
    }
    let next = start()
    for (let count = 0; count < TIMES; count++) {
      const { child, exited } = next
      next = start() // loads its code meanwhile
      child.stdin.write('go\n')
      let left = 1 + Math.floor(Math.random() * 60)
      for await (const line of createInterface({ input: child.stdout })) {
        const [name = '', seq] = line.split(' ')
        acknowledged.set(name, Number(seq))
        if (--left === 0) child.kill('SIGKILL')
      }
      expect(await exited).toEqual([null, 'SIGKILL'])
    }
    next.child.kill('SIGKILL')
    await next.exited
    const store = await createPostgresStore({ url, clock: createSystemClock() })
    for (const name of names) expect(await checkNumbered(store, name)).toBeGreaterThanOrEqual(acknowledged.get(name) ?? 0)
    expect([...acknowledged.values()].reduce((sum, seq) => sum + seq, 0)).toBeGreaterThan(TIMES)
    await store.close()
  })

  it('two servers of Daybook under load, while one of them or PostgreSQL is restarted, lose, double and repeat nothing', async () => {
    if (!server) return
    const database = { url: await server.createDatabase(), restart: server.restart }
    const report = await runWithFaults({ conversations: 20, seconds: 10, killEveryMs: 1_200, servers: 2, database })
    expect(report).toMatchObject({
      ...{ lost: 0, doubled: 0, repeatedEffects: 0, missingEffects: 0, missedEntries: 0, doubledEntries: 0, errors: [] },
    })
    expect(report.kills).toBeGreaterThan(3)
    expect(report.accepted).toBeGreaterThan(10)
  })
})
