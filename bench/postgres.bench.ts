import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { z } from 'zod'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createPostgresStore } from '../src/adapters/store/postgres/store.ts'
import { createAgentFrom } from '../src/agent/agent.ts'
import { blockId, rangeSummaryBlock } from '../src/core/block/index.ts'
import type { ModelEvent } from '../src/core/model-event.ts'
import type { Change } from '../src/core/timeline/change.ts'
import type { Model } from '../src/ports/model.ts'
import type { ConversationStore } from '../src/ports/store.ts'
import { call, minute, result } from '../src/testing/blocks.ts'
import { appended } from '../src/testing/conformance/store/fixture.ts'
import { reply } from '../src/testing/scripted-model.ts'
import { defineTool } from '../src/tools/define.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { median, report, timed } from './measure.ts'

const clock = createSystemClock()
const ROUNDS = 10
const TURNS = 100
/** The sizes of the texts that the model writes and the tool returns in a round. The texts are random, so that no store can compress them. */
const [THOUGHT, RESULT] = [200, 400]
/** The bare commits begin this long after a turn. So work that follows a turn, such as indexing its texts, does not slow them down. */
const SETTLE_MS = 20
const randomText = (length: number) => randomBytes(length).toString('base64').slice(0, length)
/** Random texts that the model and the tool use one after the other. Making them during a turn would take 2 % of its time. */
const [thoughts, results] = [THOUGHT, RESULT].map((length) => Array.from({ length: 1_000 }, () => randomText(length))) as [
  string[],
  string[],
]

/** Compares the PostgreSQL store with bare commits on the same server. Also runs two other runtimes with their PostgreSQL stores. */
export async function bench(): Promise<void> {
  const server = await startPostgres({ durable: true })
  const client = new pg.Client({ connectionString: server.url })
  try {
    await client.connect()
    // a checkpoint makes PostgreSQL write whole pages to its log at random moments, so these settings prevent checkpoints
    for (const setting of [`checkpoint_timeout = '1d'`, `max_wal_size = '20GB'`]) await client.query(`ALTER SYSTEM SET ${setting}`)
    await client.query('SELECT pg_reload_conf()')
    await benchRounds(client, server.url)
    await benchLoad(server.url)
    await benchPeers(server)
  } finally {
    await client.end()
    await server.stop()
  }
}

function steadyModel(): Model {
  const eventsOf = (text: string): readonly ModelEvent[] => [
    { type: 'text.delta' as const, text },
    {
      type: 'finish' as const,
      finishReason: 'stop' as const,
      modelName: 'steady',
      usage: { uncached: 100, cacheRead: 0, cacheWrite: 0, output: 50, reasoning: 0 },
    },
  ]
  let count = 0
  let calls = 0
  return {
    name: 'steady',
    window: 1e9,
    async *stream({ role }) {
      if (role === 'gate') return yield* eventsOf(reply.answer('A title'))
      count = (count + 1) % ROUNDS
      const thinking = thoughts[calls++ % thoughts.length] as string
      yield* eventsOf(count === 0 ? reply.answer('Done.') : reply.call('list.more', { n: calls }, { thinking }))
    },
  }
}

const more = defineTool({
  id: 'list.more',
  description: 'Lists more.',
  params: z.object({ n: z.number() }),
  repeatable: true,
  run: ({ n }) => ({ n, text: results[n % results.length] }),
})

async function benchRounds(client: pg.Client, url: string): Promise<void> {
  const store = await createPostgresStore({ url, clock })
  const appends: (readonly Change[])[] = []
  let begins: number[] = [] // when the commit of each response of the turn began
  const recording: ConversationStore = {
    ...store,
    append: (claim, changes: readonly Change[], options) => {
      appends.push(changes)
      if (changes[0]?.type === 'response.received') begins.push(performance.now())
      return store.append(claim, changes, options)
    },
  }
  const agent = createAgentFrom({ model: steadyModel(), tools: [more], store: recording, clock })
  await client.query('CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL)')
  const position = async () => Number((await client.query(`SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS at`)).rows[0].at)
  const [rounds, turns, bare, written]: [number[], number[], number[], number[]] = [[], [], [], []]
  const measureTurn = async (conversationId: string) => {
    appends.length = 0
    begins = []
    const before = await position()
    turns.push((await timed(() => agent.run(conversationId, 'List.').result)) / ROUNDS)
    rounds.push(((begins.at(-1) ?? 0) - (begins[0] ?? 0)) / (begins.length - 1))
    await sleep(SETTLE_MS)
    written.push(((await position()) - before) / ROUNDS)
    const bodies = appends.map((changes) => JSON.stringify(changes))
    const took = await timed(async () => {
      for (const body of bodies) await client.query({ name: 'bare', text: 'INSERT INTO bare (body) VALUES ($1)', values: [body] })
    })
    bare.push((2 * took) / bodies.length)
  }
  // warm-up: in the first turns, the engine has not yet compiled the code. A server runs for days, so these turns are not measured
  for (let turn = 0; turn < TURNS; turn++) await measureTurn('warm-up')
  for (const values of [rounds, turns, bare, written]) values.length = 0
  for (let turn = 0; turn < TURNS; turn++) await measureTurn('c')
  await agent.close()
  await store.close()
  const floor = median(bare)
  report(`durable round (two bare commits: ${floor.toFixed(2)} ms)`, median(rounds) / floor, 2.5, 'two commits')
  const perRound = (median(turns) / floor).toFixed(2)
  console.log(`a turn of ${ROUNDS} rounds takes ${perRound} × two commits per round, with its claim, its start and its end`)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  // only about every third turn is followed by indexing, which also writes to the log. So the mean of only a few turns would vary too much
  const [first, last] = [mean(written.slice(1, 31)), mean(written.slice(-30))]
  report(`log bytes per round, turn 100 (turn 1: ${(first / 1024).toFixed(1)} KB)`, last / first, 1.3, 'turn 1')
}

/** Compares the time to load 500 visible blocks after a short history with the time after a long one. */
async function benchLoad(url: string): Promise<void> {
  const store = await createPostgresStore({ url, clock })
  for (const [id, blocks] of [
    ['short', 1_000],
    ['long', 100_000],
  ] as const) {
    const claim = await store.claim(id, { id: 'bench', host: 'here', pid: process.pid })
    for (let n = 0; n < blocks; n += 1_000) {
      const page = Array.from({ length: 500 }, (_, k) => {
        const at = n + 2 * k
        return [
          appended([call(`c${at}`, 'list.more', 't1', at)], at + 1),
          appended([result(`c${at}`, randomText(RESULT), 't1', at)], at + 2),
        ]
      })
      await store.append(claim, page.flat())
    }
    const summary = { id: blockId(blocks + 1), ...rangeSummaryBlock('t1', minute(1), { text: 'what was before', coveredTurnIds: [] }) }
    await store.append(claim, [{ type: 'range.compacted', after_id: blockId(blocks - 499), blocks: [summary], covered: [] }])
  }
  const times = { short: [] as number[], long: [] as number[] }
  for (let n = 0; n < 60; n++) for (const id of ['short', 'long'] as const) times[id].push(await timed(() => store.loadVisible(id)))
  await store.close()
  const floor = median(times.short)
  report(`load 500 of 100,000 blocks (500 of 1,000: ${floor.toFixed(2)} ms)`, median(times.long) / floor, 1.3, 'short')
}

const peers = join(import.meta.dirname, 'peers', 'postgres')

/**
 * Runs the same rounds with LangGraph.js and Mastra, each with its PostgreSQL store on this server. They are installed on demand. LangGraph
 * stores every step, and Mastra stores a turn when it has ended.
 */
async function benchPeers(server: { createDatabase(): Promise<string> }): Promise<void> {
  const run = promisify(execFile)
  try {
    if (!existsSync(join(peers, 'node_modules'))) await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: peers })
  } catch (error) {
    return console.log(`the peers can not be installed, so they are left out: ${(error as Error).message.split('\n')[0]}`)
  }
  for (const name of ['langgraph', 'mastra']) {
    const input = JSON.stringify({ url: await server.createDatabase(), rounds: ROUNDS, turns: TURNS, thought: THOUGHT, result: RESULT })
    const { stdout } = await run(process.execPath, [join(peers, `${name}.mjs`), input], { cwd: peers, maxBuffer: 1e8 })
    const { ms, first, last } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<'ms' | 'first' | 'last', number>
    const kilobytes = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`
    console.log(`${name}: a round takes ${ms.toFixed(2)} ms, and writes ${kilobytes(first)} in turn 1, ${kilobytes(last)} in turn ${TURNS}`)
  }
}
