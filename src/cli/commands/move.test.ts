import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createCommandLine } from '../../../test/support/command-line.ts'
import { hasPostgres, startPostgres } from '../../../test/support/postgres.ts'

describe.skipIf(!hasPostgres)('daybook move', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const line = createCommandLine()
  afterAll(async () => {
    line.remove()
    await server?.stop()
  })

  it('moves the conversations of a folder to a database and back, and says how to go on', async () => {
    const url = new URL((await server?.createDatabase()) ?? '')
    url.password = 'secret'
    await line.run('run', 'Hello', '--conversation', 'greeting')
    const planned = await line.run('move', '--from', 'data', '--to', url.href, '--dry-run')
    expect(planned).toMatchObject({ exitCode: 0 })
    expect(planned.output).toMatch(/would copy:\n {2}conversations {2}1 with \d+ entries\n/)
    line.environment.DAYBOOK_DATABASE_URL = url.href
    const moved = await line.run('move', '--from', 'data', '--to', 'database')
    expect(moved.output).toContain('copied and checked:\n  conversations  1 with')
    expect(moved.output).toContain(
      `${join(line.folder, 'data')} was not changed. To use postgres://127.0.0.1:${url.port}${url.pathname}, set DAYBOOK_DATABASE_URL`,
    )
    expect(moved.errors).toContain('conversations 1 of 1\n')
    expect(moved.text + planned.text).not.toContain('secret')
    expect((await line.run('show', 'greeting')).output).toContain('Hello')
    const again = await line.run('move', '--from', 'data', '--to', 'database')
    expect(again).toMatchObject({ exitCode: 1, errors: expect.stringContaining('has data already') })
    expect((await line.run('move', '--from', 'database', '--to', 'copy')).output).toContain('use --data')
    delete line.environment.DAYBOOK_DATABASE_URL
    expect((await line.run('--data', join(line.folder, 'copy'), 'show', 'greeting')).output).toContain('Hello')
  })

  it('says what is missing', async () => {
    expect(await line.run('move', '--from', 'data')).toMatchObject({ exitCode: 2, errors: expect.stringContaining('--to') })
    expect((await line.run('move', '--from', 'data', '--to', 'database')).errors).toContain('set DAYBOOK_DATABASE_URL')
    expect((await line.run('move', '--from', 'nothing', '--to', 'copy2')).errors).toContain('nothing to move')
    expect((await line.run('move', '--from', 'data', '--to', 'copy3', '--s3', 'to')).errors).toContain('DAYBOOK_S3_BUCKET')
  })
})
