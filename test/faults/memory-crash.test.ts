import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { startVectors } from '../../src/tools/recall/vectors.ts'
import { createPlace, isPostgres, type Place } from '../recall/places.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { openFolderStore } from '../support/stores.ts'
import { createTestEmbedder, testVector } from './memory-embedder.ts'

const ROUNDS = 30

/** The vectors get another length every third round, so that children are killed while they make all vectors again. */
const dimensionsIn = (round: number): number => (Math.floor(round / 3) % 2 === 0 ? 8 : 16)

/** Runs the child and kills it some time after its first append. */
async function runAndKill({ folder }: Place, round: number): Promise<void> {
  const script = join(import.meta.dirname, 'memory-child.ts')
  const child = spawn(process.execPath, [script, folder, String(round), String(dimensionsIn(round))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  child.stdin.end('go')
  await Promise.race([once(child.stdout, 'data'), ended])
  await sleep((round * 7) % 60)
  child.kill('SIGKILL')
  await ended
}

/** Queries that differ between the two kinds of databases. */
const sql = isPostgres
  ? {
      behind: `SELECT id FROM conversations LEFT JOIN memory_progress ON conversation = key
        WHERE coalesce(seq, 0) < last_seq OR key IN (SELECT conversation FROM memory_behind) AND open_turn IS NULL ORDER BY id`,
      bytes: 'octet_length(body)',
      vectors: 'SELECT s.body AS text, v.body AS vector FROM memory_snippets AS s FULL JOIN memory_vectors AS v USING (owner, number)',
      forget:
        'DELETE FROM memory_progress; DELETE FROM memory_behind; INSERT INTO memory_behind SELECT folder, key, last_seq FROM conversations WHERE last_seq > 0',
    }
  : {
      behind: `SELECT id FROM conversations WHERE memory_seq < last_seq OR key IN (SELECT conversation FROM memory_behind) ORDER BY id`,
      bytes: 'length(body)',
      vectors: 'SELECT s.body AS text, v.body AS vector FROM memory_snippets AS s FULL JOIN memory_vectors AS v USING (snippet)',
      forget: `UPDATE conversations SET memory_seq = 0;
        INSERT OR IGNORE INTO memory_behind SELECT key FROM conversations WHERE last_seq > 0`,
    }

/** The content of the index, without the numbers that depend on the order of the writes. */
async function contentOf({ query }: Place): Promise<object> {
  return {
    behind: await query(sql.behind),
    snippets: await query(`SELECT id, block, part, seq, turn, role, ts, path, body FROM memory_snippets
                           JOIN conversations ON conversation = key ORDER BY id, block, part`),
    turns: await query('SELECT id, turn, seq, uses FROM memory_turns JOIN conversations ON conversation = key ORDER BY id, turn'),
    owners: await query('SELECT folder, snippets FROM memory_owners ORDER BY folder'),
    postings: await query(`SELECT folder, term, sum(${sql.bytes}) AS bytes FROM memory_postings JOIN memory_owners ON owner = key
                           GROUP BY folder, term ORDER BY folder, term`),
    documents: await query(
      `SELECT folder, sum(${sql.bytes}) AS bytes FROM memory_documents JOIN memory_owners ON owner = key GROUP BY 1 ORDER BY 1`,
    ),
  }
}

const emptied = ['owners', 'snippets', 'documents', 'postings', 'turns', 'vectors'].map((table) => `DELETE FROM memory_${table}`).join('; ')

/** Empties the index, as if an older version of Daybook had written the conversations. */
const emptyIndex = ({ change }: Place) => change(`BEGIN; ${emptied}; ${sql.forget}; COMMIT`)

/** Lets the vectors be finished, and compares each with the one that its text has. Returns how many there are. */
async function checkVectors({ memory }: Awaited<ReturnType<typeof openFolderStore>>, { query }: Place): Promise<number> {
  if (!memory) throw new TypeError('the store has no memory index')
  const problems: unknown[] = []
  const maker = startVectors(memory.vectors, createTestEmbedder(8), (error) => problems.push(error), { idleMs: 1, waitMs: 1 })
  await vi.waitFor(
    async () => {
      const { done, all, dimensions } = (await memory.vectors.progress()) ?? { done: 0, all: -1, dimensions: 0 }
      expect([done, dimensions]).toEqual([all, 8])
    },
    { timeout: 60_000 },
  )
  await maker.close()
  expect(problems).toEqual([])
  const rows = await query(sql.vectors)
  const wrong = rows.filter(({ text: stored, vector }) => {
    const text = isPostgres && typeof stored === 'string' ? (JSON.parse(stored) as string) : stored
    const expected = typeof text === 'string' ? new Uint8Array(testVector(text, 8).buffer) : undefined
    return !(vector instanceof Uint8Array) || expected === undefined || Buffer.compare(vector, expected) !== 0
  })
  expect(wrong).toEqual([])
  return rows.length
}

it('after a kill at any time, the memory index equals one that is built from the journal, and every text has its vector', {
  timeout: 300_000,
}, async (context) => {
  countAttempts(context, ROUNDS)
  const place = createPlace()
  const open = () => openFolderStore(place.folder, { clock: createSystemClock() })
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await runAndKill(place, round)
      if (round % 10 === 5) await emptyIndex(place) // the next child then catches up while it is killed
    }
    const store = await open()
    await store.memory?.catchUp()
    const found = await store.memory?.search('rivers', {
      within: { user: { tenant: 'acme', project: 'web', user: 'u1' } },
      targets: ['user'],
      now: new Date().toISOString(),
      limit: 50,
    })
    expect(found?.length).toBeGreaterThan(ROUNDS / 2)
    expect(await checkVectors(store, place)).toBeGreaterThan(ROUNDS)
    await store.close()
    const content = await contentOf(place)
    await emptyIndex(place)
    const rebuilt = await open()
    await rebuilt.memory?.catchUp()
    await rebuilt.close()
    expect(await contentOf(place)).toEqual(content)
    expect(content).toMatchObject({ behind: [] })
  } finally {
    await place.remove()
  }
})
