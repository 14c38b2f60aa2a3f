import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

it('prints a table, and leaves no folder behind', async () => {
  const { exitCode, output } = await line.run('torture', '--only', 'leases', '--seed', '5')
  expect(exitCode).toBe(0)
  expect(output).toMatch(/^SQLite in .*data, in a scratch place that is removed at the end, seed 5$/m)
  expect(output).toMatch(/^leases +0 +7 .* ok$/m)
  expect(output).toMatch(/^1 row: nothing was lost, doubled, repeated or paid twice$/m)
  expect(existsSync(join(line.folder, 'data'))).toBe(false)
})

it('does not touch the conversations of the data folder', async () => {
  line.setReplies()
  const data = join(line.folder, 'data')
  mkdirSync(data)
  writeFileSync(join(data, 'daybook.db'), 'not even a database')
  expect((await line.run('torture', '--only', 'leases,kill-append')).exitCode).toBe(0)
  expect(readdirSync(data)).toEqual(['daybook.db'])
})

/** A store with an error: it accepts everything that is written with an outdated claim. */
function writeBrokenStore(): string {
  const source = (name: string) => pathToFileURL(join(import.meta.dirname, '../..', name)).href
  const text = `
import { createFileBlobs } from '${source('adapters/blobs/file.ts')}'
import { createSqliteStore } from '${source('adapters/store/sqlite/store.ts')}'
export async function openStore({ folder, clock }) {
  const store = await createSqliteStore({ file: folder + '/my.db', blobs: createFileBlobs({ folder: folder + '/blobs' }), clock })
  return { ...store, append: (claim, changes) => store.append(claim, changes).catch(() => []), renew: async () => {} }
}`
  writeFileSync(join(line.folder, 'store.mjs'), text)
  return './store.mjs'
}

it('exits with 1 when a store of the user breaks a promise, and says which', async () => {
  const { exitCode, output } = await line.run('torture', '--only', 'leases', '--store-module', writeBrokenStore())
  expect(exitCode).toBe(1)
  expect(output).toMatch(/^leases .* FAILED$/m)
  expect(output).toMatch(/^ {4}stale: a lost lease could be renewed$/m)
  expect(output).toMatch(/^1 row of 1 failed/m)
})

it('prints JSON, with all findings', async () => {
  const { exitCode, output } = await line.run('torture', '--only', 'leases', '--store-module', writeBrokenStore(), '--json')
  const [row, sums, ...more] = output
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each) as unknown)
  expect(exitCode).toBe(1)
  expect(row).toMatchObject({
    type: 'row',
    name: 'leases',
    rounds: 1,
    violations: [{ kind: 'stale' }, { kind: 'stale' }, { kind: 'stale' }],
  })
  expect(sums).toMatchObject({ type: 'sums', ok: false, rows: 1, failed: 1, notRun: 0 })
  expect(more).toEqual([])
})

it('a row for which there was no time is named, and is a failure', async () => {
  const { exitCode, output } = await line.run('torture', '--only', 'kill-append,leases', '--seconds', '1')
  expect(exitCode).toBe(1)
  expect(output).toMatch(/^leases .* not run$/m)
  expect(output).toMatch(/^not run, because the time was over: leases$/m)
})

it('an interrupted run ends its processes and removes everything', async () => {
  const command = line.start('torture', '--only', 'kill-append,freeze')
  await command.until('frozen at each commit')
  command.end('SIGINT')
  expect(await command.exitCode).toBe(130)
  expect(existsSync(join(line.folder, 'data'))).toBe(false)
})

it('wrong rows, modules and addresses, and a server, get clear answers', async () => {
  expect((await line.run('torture', '--only', 'none')).errors).toContain('there is no row none; rows are: kill-commit, ')
  expect((await line.run('torture', '--store-module', './none.ts')).errors).toContain('there is no file ./none.ts')
  expect((await line.run('torture', '--database', 'mysql://x')).errors).toContain('must be an address such as postgres://')
  expect((await line.run('torture', '--server', 'http://127.0.0.1:1')).errors).toContain('without --server')
})
