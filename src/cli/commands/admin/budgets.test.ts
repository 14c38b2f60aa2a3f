import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../../test/support/command-line.ts'
import { bearer, tokenOf } from '../../../../test/support/hostile/fixture.ts'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { openServer } from '../../../../test/support/server-fixture.ts'
import { conversationKey } from '../../../core/scope.ts'
import { minute } from '../../../testing/blocks.ts'
import { opened, waitingTurn } from '../../../testing/conformance/store/fixture.ts'
import { openStore } from '../../../wiring/store.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const kinds = ['a folder', ...(hasPostgres ? ['PostgreSQL'] : [])]

describe.each(kinds)('budgets and work in %s', async (kind) => {
  const server = kind === 'PostgreSQL' ? await startPostgres() : undefined
  afterAll(() => server?.stop())
  beforeEach(async () => {
    if (server) line.environment.DAYBOOK_DATABASE_URL = await server.createDatabase()
  })
  const open = () =>
    openStore({ data: join(line.folder, 'data'), ...(server && { databaseUrl: line.environment.DAYBOOK_DATABASE_URL ?? '' }) })

  it('lists, shows, sets, clears and removes budgets, also as JSON', async () => {
    const budgets = async (...args: readonly string[]) => line.run('admin', 'budgets', ...args)
    expect((await budgets('set', 'tenant/acme', '--tokens', '50000', '--money', '12.50')).text).toBe(
      [
        'budget       limit                spent        reserved     left',
        'tenant/acme  50,000 tokens $12.5  0 tokens $0  0 tokens $0  50,000 tokens $12.5',
      ].join('\n'),
    )
    await budgets('set', 'user/acme/web/ann', '--unlimited')
    const listed = JSON.parse((await budgets('--json')).output)
    const nothing = { tokens: 0, money: 0 }
    const acme = { name: 'tenant/acme', kind: 'tenant', limits: { tokens: 50_000, money: 12.5 }, spent: nothing, reserved: nothing }
    expect(listed).toEqual([
      { ...acme, left: { tokens: 50_000, money: 12.5 } },
      { ...acme, name: 'user/acme/web/ann', kind: 'user', limits: {}, left: {} },
    ])
    expect((await budgets('list', 'user/')).text).toMatch(/^budget .*\nuser\/acme\/web\/ann +unlimited/)
    line.environment.DAYBOOK_BUDGETS_USER = 'money=3'
    expect((await budgets('show', 'user/acme/web/bob')).text).toMatch(/user\/acme\/web\/bob +\$3 +0 tokens \$0 +0 tokens \$0 +\$3$/)
    expect((await budgets('show', 'user/acme/web/ann')).text).toContain('unlimited')
    expect(JSON.parse((await budgets('clear', 'user/acme/web/ann', '--json')).output)).toMatchObject({ limits: { money: 3 } })
    expect((await budgets('remove', 'tenant/acme')).text).toBe('tenant/acme: removed')
    expect((await budgets('remove', 'tenant/acme')).text).toBe('tenant/acme: there is nothing to remove')
  })

  it.each([
    [['set', 'tenant/acme'], 'give --tokens, --money or both; or --unlimited alone'],
    [['set', 'tenant/acme', '--unlimited', '--tokens', '1'], 'give --tokens, --money or both; or --unlimited alone'],
    [['set', 'tenant/acme', '--tokens', '-1'], 'must be a whole number'],
    [['set', 'tenant/acme', '--tokens', '1e400'], 'must be a whole number'],
    [['set', 'tenant/acme', '--tokens', '9007199254740993'], 'must be a whole number'],
    [['set', 'tenant/acme', '--money', 'NaN'], 'must be an amount from 0 to 1000000000'],
    [['set', 'tenant/acme', '--money', '-0.5'], 'must be an amount from 0 to 1000000000'],
    [['set', 'tenant', '--tokens', '1'], '"tenant" is not the name of a budget: use day, day/TENANT, tenant/TENANT'],
    [['show', 'user/acme'], '"user/acme" is not the name of a budget'],
    [['clear', 'week/acme'], '"week/acme" is not the name of a budget'],
    [['remove', '../x'], '"../x" is not the name of a budget'],
  ] as const)('refuses %j with a reason', async (args, reason) => {
    await line.run('admin', 'budgets', 'set', 'day', '--tokens', '1')
    const { exitCode, errors } = await line.run('admin', 'budgets', ...args)
    expect(exitCode).not.toBe(0)
    expect(errors).toContain(reason)
  })

  it('lists parked and waiting conversations of all tenants, retries a parked one, and releases a lease', async () => {
    const [failing, waiting] = ['failing', 'asks'].map((name) => conversationKey({ tenant: 'acme', project: 'web', user: 'ann' }, name))
    const other = { id: 'other', host: 'elsewhere', pid: 4711 }
    const store = await open()
    await store.offer(failing as string, { event_id: 'e1', kind: 'followup', ts: minute(1), text: 'Hi.' }, { create: true })
    const next = await store.work.claimNext(other, { maxAttempts: 1 })
    if (next.claim) await store.release(next.claim, { failed: 'no answer' })
    await expect
      .poll(async () => (await store.work.claimNext(other, { maxAttempts: 1 })) && (await store.head(failing as string))?.parked)
      .toBeTruthy()
    const claim = await store.claim(waiting as string, other)
    await store.append(claim, [opened('t1'), waitingTurn('t1', 2, [{ wait_id: 'w1', kind: 'budget', question: 'May it have more?' }])])
    await store.release(claim)
    await store.append(await store.claim('held', other), [opened('t1')])

    const { parked, waits, leases } = JSON.parse((await line.run('admin', 'work', '--json')).output)
    expect(parked).toMatchObject([{ id: 'acme/web/ann/failing', attempts: 1, reason: 'no answer' }])
    expect(waits).toMatchObject([{ conversationId: 'acme/web/ann/asks', kind: 'budget', question: 'May it have more?' }])
    expect(leases).toMatchObject([{ conversationId: 'held', owner: { pid: 4711, host: 'elsewhere' } }])
    expect((await line.run('retry', 'acme/web/ann/failing')).text).toBe(
      'acme/web/ann/failing is in the work list again: a running server takes it, or the next one that starts',
    )
    expect((await store.head(failing as string))?.parked).toBeFalsy()
    expect((await line.run('admin', 'release', 'held')).text).toContain('process 4711 on elsewhere holds held')
    expect((await line.run('admin', 'release', 'held', '--force')).text).toContain('the lease has ended')
    expect(JSON.parse((await line.run('admin', 'work', '--json')).output)).toMatchObject({ leases: [], parked: [] })
    await store.close()
  })
})

it('says that nothing is stored before there is a data folder, and with set creates it', async () => {
  const { exitCode, text } = await line.run('admin', 'budgets')
  expect([exitCode, text]).toEqual([0, 'no budget has limits or was used'])
})

it('with --server, an operator uses the budgets of the own tenant', async () => {
  const { server } = await openServer({ replies: [], server: { auth: bearer } })
  const budgets = (...args: readonly string[]) => line.run('admin', 'budgets', ...args, '--server', server.url)
  line.environment.DAYBOOK_TOKEN = tokenOf({ sub: 'olga', tenant: 'acme', project: 'web', roles: ['operator'] })
  expect((await budgets('set', 'user/acme/web/ann', '--tokens', '70')).text).toContain('70 tokens')
  expect((await budgets('show', 'user/acme/web/ann')).text).toContain('70 tokens')
  expect((await budgets('list', 'user/acme/')).text).toContain('user/acme/web/ann')
  expect(await budgets('set', 'tenant/other', '--tokens', '70')).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('does not belong'),
  })
  expect(await budgets('remove', 'user/acme/web/ann')).toMatchObject({ exitCode: 1, text: expect.stringContaining('without --server') })
  expect(await budgets('show', 'user/acme/web/bob')).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('has not used the budget'),
  })
})
