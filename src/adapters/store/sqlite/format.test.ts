import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { minute, rounds } from '../../../testing/blocks.ts'
import { appended, writeConversation } from '../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { APPLICATION_ID, migrations, SCHEMA_VERSION } from './schema/schema.ts'
import { createSqliteStore } from './store.ts'

const page = readFileSync('docs/format.md', 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'daybook-format-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('the queries of docs/format.md run and return what the page says', async () => {
  const file = join(folder, 'daybook.db')
  const store = await createSqliteStore({ file, blobs: createMemoryBlobs(), clock: createFixedClock() })
  const response = {
    type: 'response.received' as const,
    turn_id: 't1',
    ts: minute(1),
    iteration: 0,
    call_id: 'c',
    raw: 'r',
    finish_reason: 'stop',
  }
  const usage = { uncached: 1, cache_read: 2, cache_write: 3, output: 4 }
  await writeConversation(store, 'my-conversation', [
    appended(rounds(1)),
    { ...response, usage },
    { type: 'title.set', ts: minute(2), title: 'T' },
  ])
  await store.close()

  const database = new DatabaseSync(file, { readOnly: true })
  const queries = (/```sql\n([\s\S]*?)```/.exec(page)?.[1] ?? '').split(';').filter((query) => query.trim() !== '')
  const [list, journal, blocks, bill] = queries.map((query) => database.prepare(query).all())
  expect(list).toEqual([{ id: 'my-conversation', title: 'T', last_activity_at: minute(2), last_seq: 3 }])
  expect(journal?.map(({ seq, type }) => [seq, type])).toEqual([
    [1, 'blocks.appended'],
    [2, 'response.received'],
    [3, 'title.set'],
  ])
  expect(blocks?.map(({ type }) => type)).toEqual(['turn.header', 'user.prompt', 'react.tool.call', 'react.tool.result'])
  expect(bill).toEqual([{ seq: 2, output_tokens: 4 }])
  expect(database.prepare('PRAGMA application_id').get()).toEqual({ application_id: APPLICATION_ID })
  database.close()
})

it('docs/format.md describes the current version, every table and every type of change', () => {
  expect(page).toContain(`version ${SCHEMA_VERSION} of the files`)
  const tables = migrations.flatMap((step) => [...step.matchAll(/CREATE (?:TABLE|VIEW) (\w+)/g)].map(([, name]) => name as string))
  const changes = readFileSync('src/core/timeline/parse-change.ts', 'utf8').matchAll(/^ {2}'([a-z]+\.[a-z]+)': /gm)
  const current = tables.filter((name) => name !== 'memory_conversations') // a later migration has removed it
  const names = [...current, ...[...changes].map(([, name]) => name as string)]
  expect(names.length).toBeGreaterThan(20)
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
