import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { conversationKey } from '../../src/core/scope.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { journalOf } from '../../src/testing/conformance/store/fixture.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import type { StoreSettings } from '../../src/wiring/storage.ts'
import { openPlanted, other } from '../deletion/planted.ts'
import { type CommandLine, createCommandLine } from '../support/command-line.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-backup-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

/** Starts `busy-child.ts`, and resolves when it has run some turns. */
async function startBusy(...args: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'busy-child.ts'), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let turns = 0
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (text !== 'open') turns++
  })
  const untilTurns = async (count: number) => expect.poll(() => turns, { timeout: 120_000 }).toBeGreaterThanOrEqual(count)
  await untilTurns(6)
  return {
    turns: () => turns,
    /** Waits until turns have ended since now, so that the process worked meanwhile. */
    untilMore: () => untilTurns(turns + 2),
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function readAll(store: ConversationStore): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const { conversations } = await store.list({ limit: 500 })
  const journals = new Map<string, readonly unknown[]>()
  for (const { conversationId } of conversations) journals.set(conversationId, await journalOf(store, conversationId))
  return journals
}

/** Checks a copy against the original, then resumes its open turn. */
async function checkCopy(original: StoreSettings, copy: StoreSettings): Promise<void> {
  const first = await openPlanted(original)
  const second = await openPlanted(copy, [reply.answer('Resumed.')])
  const [before, after] = [await readAll(first.store), await readAll(second.store)]
  await first.close()
  expect(after.size).toBeGreaterThan(3)
  let compared = 0
  for (const [id, journal] of after) {
    const same = before.get(id)
    // a conversation may have been deleted since, and created again with the same name
    if (same && JSON.stringify(same[0]) === JSON.stringify(journal[0])) {
      expect(journal).toEqual(same.slice(0, journal.length))
      compared++
    }
    const { blobs } = await second.store.exportBundle(id) // reads all blobs of the conversation, and compares their hashes
    if (journal.length > 5 && !id.endsWith('/open')) expect(Object.keys(blobs ?? {}).length).toBeGreaterThan(0)
  }
  expect(compared).toBeGreaterThan(2)
  const open = conversationKey(other, 'open')
  await expect
    .poll(
      async () => {
        await second.agent.recover()
        return (await second.agent.archive.head(open)).openTurn
      },
      { timeout: 120_000, interval: 500 },
    )
    .toBe(null)
  expect((await second.agent.archive.timeline(open)).blocks.at(-1)?.text).toContain('Resumed.')
  await second.close()
}

const folderSettings = (data: string) => ({ data, store: 'sqlite' as const, workspace: 'custom' as const })

it('a back-up that is made while turns run is restored into an empty folder: all conversations are there, and the open turn goes on', async () => {
  const data = join(line.folder, 'data')
  const busy = await startBusy(data)
  const made = await line.run('backup', 'back-up', '--json')
  expect(made).toMatchObject({ exitCode: 0 })
  const { createdAt, ...counts } = JSON.parse(made.output)
  expect(counts.conversations).toBeGreaterThan(3)
  await busy.untilMore()
  await busy.kill()
  const again = await line.run('backup', 'back-up')
  expect(again).toMatchObject({ exitCode: 1, text: expect.stringContaining('is not empty') })

  const restored = join(line.folder, 'restored')
  const done = await line.run('--data', restored, 'restore', 'back-up')
  expect(done).toMatchObject({ exitCode: 0, text: expect.stringContaining(`as of ${createdAt}: ${counts.conversations} conversations`) })
  expect(await line.run('--data', restored, 'restore', 'back-up')).toMatchObject({ exitCode: 1 })
  await checkCopy(folderSettings(data), folderSettings(restored))
}, 600_000)

it('a back-up that was not finished, or whose bytes have changed, is not restored', async () => {
  const folder = mkdtempSync(join(root, 'damaged-'))
  const data = join(line.folder, 'data')
  expect(await line.run('backup', join(folder, 'none'))).toMatchObject({ exitCode: 1, text: expect.stringContaining('nothing to back up') })
  const { agent, close } = await openPlanted(folderSettings(data), [reply.answer('Hello.')])
  await agent.run('c1', 'Hi.', { attachments: [{ name: 'a.txt', content: 'attached '.repeat(2_000) }] }).result
  await close()
  const backup = join(folder, 'backup')
  expect(await line.run('backup', backup)).toMatchObject({ exitCode: 0, text: expect.stringContaining('1 conversation with') })
  const blobs = readdirSync(join(backup, 'blobs'), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const { parentPath, name } of blobs) writeFileSync(join(parentPath, name), 'something else')
  const restore = (to: string) => line.run('--data', join(folder, to), 'restore', backup)
  expect((await restore('one')).exitCode).toBe(1)
  expect(readdirSync(join(folder, 'one'))).not.toContain('daybook.db')
  rmSync(join(backup, 'backup.json'))
  expect(await restore('two')).toMatchObject({ exitCode: 1, text: expect.stringContaining('not a complete back-up') })
})

it('a back-up that an attacker has changed can not reach files outside of it: links, hashes that are paths, and a wrong manifest', async () => {
  const folder = mkdtempSync(join(root, 'tampered-'))
  const data = join(line.folder, 'data')
  const { agent, close } = await openPlanted(folderSettings(data), [reply.answer('Hello.')])
  await agent.run('c1', 'Hi.', { attachments: [{ name: 'a.txt', content: 'attached '.repeat(2_000) }] }).result
  await close()
  const secret = join(folder, 'secret')
  mkdirSync(secret)
  writeFileSync(join(secret, 'key'), 'a private key')
  let count = 0
  const restoreAfter = async (tamper: (backup: string) => void) => {
    count++
    const [backup, target] = [join(folder, `backup-${count}`), join(folder, `restored-${count}`)]
    expect((await line.run('backup', backup)).exitCode).toBe(0)
    tamper(backup)
    const { exitCode, text } = await line.run('--data', target, 'restore', backup)
    const files = existsSync(target) ? readdirSync(target, { recursive: true, withFileTypes: true }) : []
    for (const { parentPath, name } of files.filter((entry) => entry.isFile()))
      expect(readFileSync(join(parentPath, name)).includes('a private key'), name).toBe(false)
    expect(files.filter((entry) => entry.isSymbolicLink())).toEqual([])
    expect(files.map(({ name }) => name)).not.toContain('daybook.db')
    return { exitCode, text }
  }
  const link = { exitCode: 1, text: expect.stringContaining('is a link') }
  for (const name of ['hosted', 'mcp', 'blobs', 'workspaces']) {
    const replaced = await restoreAfter((backup) => {
      rmSync(join(backup, name), { recursive: true, force: true })
      symlinkSync(secret, join(backup, name))
    })
    expect(replaced, name).toMatchObject(link)
  }
  for (const name of ['hosted', 'mcp', 'blobs']) {
    const added = await restoreAfter((backup) => {
      mkdirSync(join(backup, name), { recursive: true })
      symlinkSync(join(secret, 'key'), join(backup, name, 'key'))
    })
    expect(added, name).toMatchObject(link)
  }
  expect(
    await restoreAfter((backup) => {
      rmSync(join(backup, 'daybook.db'))
      symlinkSync(join(data, 'daybook.db'), join(backup, 'daybook.db'))
    }),
  ).toMatchObject(link)
  const sayBucket = (backup: string) => {
    const manifest = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8'))
    writeFileSync(join(backup, 'backup.json'), JSON.stringify({ ...manifest, bucket: true }))
  }
  expect(await restoreAfter(sayBucket)).toMatchObject({ exitCode: 1, text: expect.stringContaining('DAYBOOK_S3_BUCKET') })
  const path = await restoreAfter((backup) => {
    const database = new DatabaseSync(join(backup, 'daybook.db'))
    database.prepare('UPDATE blob_refs SET sha256 = ?').run('../../secret/key')
    database.close()
  })
  expect(path).toMatchObject({ exitCode: 1, text: expect.stringContaining('not a hash') })
  expect(readFileSync(join(secret, 'key'), 'utf8')).toBe('a private key')
})

it.skipIf(!hasPostgres)(
  'a dump of PostgreSQL that is made while turns run is restored into an empty database',
  async () => {
    const server = await startPostgres()
    try {
      const [from, to] = [await server.createDatabase(), await server.createDatabase()]
      const folder = mkdtempSync(join(root, 'postgres-'))
      for (const name of ['data', 'restored']) mkdirSync(join(folder, name))
      const busy = await startBusy(join(folder, 'data'), from)
      const dump = join(folder, 'daybook.dump')
      await promisify(execFile)('pg_dump', ['--format=custom', `--file=${dump}`, from])
      await busy.untilMore()
      await busy.kill()
      await promisify(execFile)('pg_restore', ['--no-owner', '--exit-on-error', `--dbname=${to}`, dump])
      line.environment.DAYBOOK_DATABASE_URL = from
      expect(await line.run('backup', 'x')).toMatchObject({ exitCode: 1, text: expect.stringContaining('pg_dump') })
      await checkCopy(
        { ...folderSettings(join(folder, 'data')), databaseUrl: from },
        { ...folderSettings(join(folder, 'restored')), databaseUrl: to },
      )
    } finally {
      await server.stop()
    }
  },
  600_000,
)
