import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { createCommandLine } from '../../../../test/support/command-line.ts'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'

describe.skipIf(!hasPostgres)('a database that can not be used', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const line = createCommandLine()
  afterAll(async () => {
    line.remove()
    await server?.stop()
  })
  const url = (change: Partial<URL>) => Object.assign(new URL(server?.url ?? ''), change).href

  /**
   * Replaces the rules by which the server accepts connections. The connection that replaces them stays open, so that it can restore the
   * rules.
   */
  async function withRules(rules: string, work: () => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: server?.url ?? '' })
    await client.connect()
    const [{ hba_file: file }] = (await client.query('SHOW hba_file')).rows
    const use = async (text: string) => {
      await client.query(`COPY (SELECT '${text}') TO '${file}'`)
      await client.query('SELECT pg_reload_conf()')
    }
    try {
      await client.query(`ALTER ROLE daybook PASSWORD 'right'`)
      await use(rules)
      await work()
    } finally {
      await use('host all all 127.0.0.1/32 trust')
      await client.end()
    }
  }

  const doctor = async (databaseUrl: string) => {
    line.environment.DAYBOOK_DATABASE_URL = databaseUrl
    const { exitCode, text } = await line.run('doctor')
    return { exitCode, line: text.split('\n').find((each) => /^. database /.test(each)) ?? '' }
  }

  it('is described by doctor, with what to do', async () => {
    expect(await doctor(server?.url ?? '')).toMatchObject({ line: expect.stringMatching(/^✓ database +PostgreSQL \d+.*/) })
    const cases = [
      [url({ port: '1' }), 'ECONNREFUSED', 'start the server'],
      [url({ hostname: 'no-such-host.invalid' }), '', 'check the host'],
      [url({ pathname: '/missing' }), 'does not exist', 'create the database'],
      [url({ search: 'sslmode=require' }), 'does not support SSL', 'remove sslmode'],
    ] as const
    for (const [address, found, advice] of cases) {
      const { exitCode, line: text } = await doctor(address)
      expect({ exitCode, text }).toEqual({
        exitCode: 1,
        text: expect.stringMatching(new RegExp(`^✗ database +PostgreSQL: .*${found}.*${advice}`)),
      })
    }
  })

  it('tells a wrong password, a missing one, and a missing encryption apart', async () => {
    await withRules('host all all 127.0.0.1/32 scram-sha-256', async () => {
      await expect.poll(async () => (await doctor(url({ password: 'wrong' }))).line).toMatch(/✗ .*check user and password/)
      expect((await doctor(server?.url ?? '')).line).toMatch(/✗ .*wants a password/)
      expect((await doctor(url({ password: 'right' }))).line).toMatch(/^✓/)
    })
    await withRules('hostssl all all 127.0.0.1/32 trust', async () => {
      await expect.poll(async () => (await doctor(server?.url ?? '')).line).toMatch(/✗ .*encrypted connection: add sslmode=require/)
    })
  })

  it('has too few connections for the settings, or uses no more than the settings allow', async () => {
    line.environment.DAYBOOK_DATABASE_CONNECTIONS = '1000'
    expect((await doctor(server?.url ?? '')).line).toMatch(/✗ .*allows \d+ connections, and the settings ask for 1000: lower/)
    line.environment.DAYBOOK_DATABASE_CONNECTIONS = 'many'
    expect((await line.run('list')).text).toContain('must be a whole number from 1 to 1000')
    line.environment.DAYBOOK_DATABASE_CONNECTIONS = '1'
    line.environment.DAYBOOK_DATABASE_PREPARE = 'off'
    expect(await line.run('list')).toMatchObject({ exitCode: 0 })
  })
})
