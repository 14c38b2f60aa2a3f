import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createFileBlobs } from '../src/adapters/blobs/file.ts'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createSqliteStore } from '../src/adapters/store/sqlite/store.ts'
import { type Block, blockId, rangeSummaryBlock, toolCallBlock, toolResultBlock } from '../src/core/block/index.ts'
import type { Change } from '../src/core/timeline/change.ts'
import type { Claim, ConversationStore } from '../src/ports/store.ts'
import { median, report, timed } from './measure.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-bench-'))
const me = { id: 'bench', host: 'here', pid: process.pid }
const words = 'the quick brown fox jumps over the lazy dog while seven wizards quietly judge my vow '
const prose = (length: number, seed: number) => `${seed} ${words.repeat(Math.ceil(length / words.length))}`.slice(0, length)
const hex = (n: number, digits: number) => (n * 2_654_435_761).toString(16).padStart(digits, '0').slice(-digits)
const hash = (n: number) => (n * 2_654_435_761) % Number.MAX_SAFE_INTEGER

const RAW = 1_024
const RESULT = 3_072

/** The changes of a typical round: 1 KB from the model and 3 KB from a tool, with ids and paths of the usual length. */
function round(n: number): readonly Change[] {
  const turnId = `turn_20260101120000_${hex(Math.floor(n / 10), 6)}`
  const place = { turnId, callId: hex(n + 1, 12), iteration: n % 10, ts: new Date(1.7672256e12 + n * 1_000).toISOString() }
  const entered = (block: Omit<Block, 'id'>, number: number): Block => ({ id: blockId(number), ...block })
  return [
    {
      type: 'response.received',
      turn_id: turnId,
      ts: place.ts,
      iteration: place.iteration,
      call_id: place.callId,
      raw: prose(RAW, n),
      finish_reason: 'stop',
      usage: { uncached: 311, cache_read: 12_004, cache_write: 812, output: 240 },
      prompt: {
        model: 'anthropic/claude',
        segments: [hash(n), hash(n + 1), hash(n + 2)],
        marks: [3, 14],
        points: [6, 30, 41],
        system: { hash: hash(1), tools: hash(2), size: 20_000 },
        tail: { size: 900 },
        shown: { from: 38, hashes: [n, n + 1, n + 2], chain: hash(n) },
        estimated_tokens: 13_127,
      },
    },
    {
      type: 'blocks.appended',
      blocks: [entered(toolCallBlock(place, { toolId: 'web_tools.web_search', params: { query: prose(60, n) } }), 2 * n + 1)],
    },
    { type: 'blocks.appended', blocks: [entered(toolResultBlock(place, { mime: 'text/markdown', text: prose(RESULT, n) }), 2 * n + 2)] },
  ]
}

export async function bench(): Promise<void> {
  try {
    await benchAppend()
    await benchLoad()
    await benchLists()
    await benchBytes()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function open(name: string): Promise<{ store: ConversationStore; claim: Claim; file: string }> {
  const file = join(folder, `${name}.db`)
  const store = await createSqliteStore({ file, blobs: createFileBlobs({ folder: join(folder, 'blobs') }), clock: createSystemClock() })
  return { store, claim: await store.claim('c1', me), file }
}

/** Compares lists of 200,000 conversations with lists of 1,000. The two alternate, so that other load affects both. */
async function benchLists(): Promise<void> {
  const stores = { few: await openWithConversations('few', 1_000), many: await openWithConversations('many', 200_000) }
  for (const [name, query] of Object.entries({ list: { plain: true }, 'unfinished turns': { open: true } } as const)) {
    const times = { few: [] as number[], many: [] as number[] }
    for (let n = 0; n < 50; n++) {
      for (const size of ['few', 'many'] as const) times[size].push(await timed(() => stores[size].list(query)))
    }
    const floor = median(times.few)
    report(`${name}: a page of 200,000 (of 1,000: ${floor.toFixed(2)} ms)`, median(times.many) / floor, 1.5, 'few')
  }
  for (const store of Object.values(stores)) await store.close()
}

async function openWithConversations(name: string, count: number): Promise<ConversationStore> {
  const { store, file } = await open(name)
  const database = new DatabaseSync(file)
  const insert = database.prepare('INSERT INTO conversations (id, title, last_activity_at, epoch) VALUES (?, ?, ?, 1)')
  database.exec('BEGIN')
  for (let n = 0; n < count; n++) insert.run(`listed-${n}`, prose(40, n), new Date(1.7672256e12 + n * 1_000).toISOString())
  database.exec('COMMIT')
  database.close()
  return store
}

/** Compares the append of a round with one SQL insert of the same bytes. The two alternate, so that other load affects both. */
async function benchAppend(): Promise<void> {
  const { store, claim } = await open('append')
  const bare = new DatabaseSync(join(folder, 'bare.db'))
  bare.exec(
    'PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)',
  )
  const insert = bare.prepare('INSERT INTO rows (body) VALUES (?)')
  const times = { ours: [] as number[], floor: [] as number[] }
  for (let n = 0; n < 1_500; n++) {
    const changes = round(n)
    const body = JSON.stringify(changes)
    times.floor.push(await timed(() => insert.run(body)))
    times.ours.push(await timed(() => store.append(claim, changes)))
  }
  bare.close()
  await store.close()
  const floor = median(times.floor.slice(100))
  report(`append of a 4 KB round (one durable insert: ${floor.toFixed(3)} ms)`, median(times.ours.slice(100)) / floor, 1.5)
}

/** Compares the time to load 500 visible blocks after a short history with the time after a long one. */
async function benchLoad(): Promise<void> {
  const short = await withHistory('short', 1_000)
  const long = await withHistory('long', 100_000)
  const times = { short: [] as number[], long: [] as number[] }
  for (let n = 0; n < 60; n++) {
    times.short.push(await timed(() => short.loadVisible('c1')))
    times.long.push(await timed(() => long.loadVisible('c1')))
  }
  await Promise.all([short.close(), long.close()])
  const floor = median(times.short)
  report(`load 500 of 100,000 blocks (500 of 1,000: ${floor.toFixed(2)} ms)`, median(times.long) / floor, 1.3, 'short')
}

async function withHistory(name: string, blocks: number): Promise<ConversationStore> {
  const { store, claim } = await open(name)
  const rounds = blocks / 2
  for (let from = 0; from < rounds; from += 1_000) {
    const upTo = Math.min(from + 1_000, rounds)
    await store.append(claim, Array.from({ length: upTo - from }, (_, n) => round(from + n)).flat())
  }
  const ts = new Date(1.8e12).toISOString()
  const summary = {
    id: blockId(blocks + 1),
    ...rangeSummaryBlock('turn_20260101120000_000000', ts, { text: prose(2_000, 0), coveredTurnIds: [] }),
  }
  await store.append(claim, [{ type: 'range.compacted', after_id: blockId(blocks - 499), blocks: [summary], covered: [] }])
  return store
}

async function benchBytes(): Promise<void> {
  for (const rounds of [10, 100, 1_000]) {
    const { store, claim, file } = await open(`bytes-${rounds}`)
    const empty = merged(file)
    for (let n = 0; n < rounds; n++) await store.append(claim, round(n))
    const payload = rounds * (RAW + RESULT)
    const allowed = 1.3 * payload + rounds * 2_048
    const grown = merged(file) - empty
    await store.close()
    report(`bytes of ${rounds} rounds (${(grown / payload).toFixed(2)} × payload)`, grown / allowed, 1, 'allowed')
  }
}

/** Merges the write-ahead log into the database file, and returns the size of the file. */
function merged(file: string): number {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  return statSync(file).size
}
