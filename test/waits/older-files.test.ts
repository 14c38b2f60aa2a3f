import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { SCHEMA_VERSION } from '../../src/adapters/store/sqlite/schema/schema.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { createReplays } from '../support/replay-all.ts'

/*
 * version-5.db.gz was written by the last version of Daybook whose turns could not wait. Its files have the format 5. Its process was killed while three turns were
 * open: `look` runs a tool that may be repeated, `pay` one that may not, and `asked` waits for the model while a followup waits in its inbox.
 * The turn of `closed` has ended.
 */
const folder = mkdtempSync(join(tmpdir(), 'daybook-older-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'daybook.db')
writeFileSync(file, gunzipSync(readFileSync(join(import.meta.dirname, '../fixtures/version-5.db.gz'))))

it('a file of the version before turns could wait is migrated, its open turns go on, and its turns can wait', async () => {
  const entries = () => {
    const database = new DatabaseSync(file, { readOnly: true })
    const rows = database.prepare('SELECT entry, type, body FROM journal ORDER BY entry').all()
    database.close()
    return rows
  }
  const before = entries()
  expect(before.length).toBe(11 + 7 + 7 + 6)

  const clock = createSystemClock()
  const store = await createSqliteStore({ file, blobs: createMemoryBlobs(), clock })
  const open = async () => (await store.list({ open: true })).conversations.map(({ conversationId }) => conversationId).sort()
  expect(await open()).toEqual(['asked', 'look', 'pay'])
  const effects: string[] = []
  const tools = ['look', 'pay'].map((name) =>
    defineTool({
      id: `shop.${name}`,
      description: `Does ${name}.`,
      params: z.object({ amount: z.number() }),
      repeatable: name === 'look',
      approval: ({ amount }) => amount > 10,
      run: ({ amount }) => effects.push(`${name} ${amount}`),
    }),
  )
  const replays = createReplays()
  const createAgent = (answer: string, ...calls: readonly string[]) =>
    createAgentFrom({ model: scriptedModel([...calls, ...Array(5).fill(reply.answer(answer))]), ...replays.note({ store, tools }), clock })

  const { results, skipped } = await createAgent('It goes on.').recover()
  expect({ results: results.map(({ answer }) => answer), skipped }).toEqual({ results: Array(3).fill('It goes on.'), skipped: [] })
  expect(effects).toEqual(['look 7'])
  const textOf = async (id: string) => JSON.stringify(blocksOf((await store.loadVisible(id))?.timeline ?? (undefined as never)))
  expect(await textOf('pay')).toContain('outcome_unknown')
  expect(await textOf('asked')).toContain('And hurry.')
  expect(await open()).toEqual([])

  const agent = createAgent('Paid.', reply.call('shop.pay', { amount: 20 }))
  expect((await agent.run('closed', 'Pay 20.').result).exitReason).toBe('waiting')
  const [wait] = (await agent.waiting()).waits
  await agent.decide('closed', wait?.callId ?? '', { approved: true })
  await agent.drain(10_000)
  expect(effects).toEqual(['look 7', 'pay 20'])
  const changes: Change[] = []
  for await (const { change } of store.readJournal('closed', { after: 0 })) changes.push(change)
  expect(changes.filter(({ type }) => type === 'turn.closed')).toHaveLength(2)
  await replays.expectSame()
  await store.close()

  const after = new Map(entries().map((row) => [row.entry, row]))
  expect(before.map(({ entry }) => after.get(entry))).toEqual(before) // no entry of the older version was changed
  const database = new DatabaseSync(file, { readOnly: true })
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION })
  database.close()
})
