import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { startVectors } from '../../src/tools/recall/vectors.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { createDatabaseFolder, type DatabaseFolder, openStoreIn } from './children.ts'
import { createTestEmbedder, testVector } from './memory-embedder.ts'

const ROUNDS = 30

/** The vectors get another length every third round, so that children are killed while they make all vectors again. */
const dimensionsIn = (round: number): number => (Math.floor(round / 3) % 2 === 0 ? 8 : 16)

/** Runs the child and kills it some time after its first append. */
async function runAndKill({ file, blobs }: DatabaseFolder, round: number): Promise<void> {
  const script = join(import.meta.dirname, 'memory-child.ts')
  const child = spawn(process.execPath, [script, file, blobs, String(round), String(dimensionsIn(round))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  child.stdin.end('go')
  await Promise.race([once(child.stdout, 'data'), ended])
  await sleep((round * 7) % 60)
  child.kill('SIGKILL')
  await ended
}

/** The content of the index, without the numbers that depend on the order of the writes. */
function contentOf(file: string): object {
  const database = new DatabaseSync(file, { readOnly: true })
  const all = (sql: string) => database.prepare(sql).all()
  try {
    return {
      behind: all('SELECT id FROM conversations WHERE memory_seq < last_seq OR key IN (SELECT conversation FROM memory_behind)'),
      snippets: all(`SELECT id, block, part, seq, turn, role, ts, path, body FROM memory_snippets
                     JOIN conversations ON conversation = key ORDER BY id, block, part`),
      turns: all('SELECT id, turn, seq, uses FROM memory_turns JOIN conversations ON conversation = key ORDER BY id, turn'),
      owners: all('SELECT folder, snippets FROM memory_owners ORDER BY folder'),
      postings: all(`SELECT folder, term, sum(length(body)) AS bytes FROM memory_postings JOIN memory_owners ON owner = key
                     GROUP BY folder, term ORDER BY folder, term`),
      documents: all(
        'SELECT folder, sum(length(body)) AS bytes FROM memory_documents JOIN memory_owners ON owner = key GROUP BY 1 ORDER BY 1',
      ),
    }
  } finally {
    database.close()
  }
}

const tables = ['owners', 'snippets', 'documents', 'postings', 'turns', 'vectors']

/** Empties the index, as if an older version of Daybook had written the conversations. */
function emptyIndex(file: string): void {
  const database = new DatabaseSync(file)
  database.exec(
    `BEGIN; ${tables.map((table) => `DELETE FROM memory_${table}`).join('; ')}; UPDATE conversations SET memory_seq = 0; INSERT OR IGNORE INTO memory_behind SELECT key FROM conversations WHERE last_seq > 0; COMMIT`,
  )
  database.close()
}

/** Lets the vectors be finished, and compares each with the one that its text has. Returns how many there are. */
async function checkVectors(store: Awaited<ReturnType<typeof openStoreIn>>, file: string): Promise<number> {
  const { memory } = store
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
  const database = new DatabaseSync(file, { readOnly: true })
  const rows = database
    .prepare('SELECT s.body AS text, v.body AS vector FROM memory_snippets AS s FULL JOIN memory_vectors AS v USING (snippet)')
    .all()
  database.close()
  const wrong = rows.filter(({ text, vector }) => {
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
  const folder = createDatabaseFolder()
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await runAndKill(folder, round)
      if (round % 10 === 5) emptyIndex(folder.file) // the next child then catches up while it is killed
    }
    const store = await openStoreIn(folder)
    await store.memory?.catchUp()
    const found = await store.memory?.search('rivers', {
      within: { user: { tenant: 'acme', project: 'web', user: 'u1' } },
      targets: ['user'],
      now: new Date().toISOString(),
      limit: 50,
    })
    expect(found?.length).toBeGreaterThan(ROUNDS / 2)
    expect(await checkVectors(store, folder.file)).toBeGreaterThan(ROUNDS)
    await store.close()
    const content = contentOf(folder.file)
    emptyIndex(folder.file)
    const rebuilt = await openStoreIn(folder)
    await rebuilt.memory?.catchUp()
    await rebuilt.close()
    expect(contentOf(folder.file)).toEqual(content)
    expect(content).toMatchObject({ behind: [] })
  } finally {
    rmSync(folder.folder, { recursive: true, force: true })
  }
})
