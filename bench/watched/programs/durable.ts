// Durable rounds of a conversation with 100 turns: their duration, and the bytes that the operating system counts as written.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createAgent, openStore } from 'daybook'
import { argumentsOf, give, namedTimes, readAll, type Time, timed } from './measured.ts'
import { addTool, settings, steadyModel } from './steady-model.ts'

const [TURNS, ROUNDS] = [100, 10]
/** How many characters the thinking has. Together with the call and its result, a round has 0.6 KB of content. */
const THINKING = 450
const COMMITS_PER_ROUND = 2
const { folder, watched } = argumentsOf<{ folder: string; watched: boolean }>()

const store = await openStore({ data: join(folder, 'data') })
const agent = createAgent({ model: steadyModel({ rounds: ROUNDS, thinking: THINKING }), tools: [addTool], settings, store })

const bare = new DatabaseSync(join(folder, 'bare.db'))
bare.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)')
const insert = bare.prepare('INSERT INTO rows (body) VALUES (?)')
const body = 'x'.repeat(300)

/** The time and the written bytes of a turn, divided by its rounds. */
interface MeasuredTurn {
  readonly time: Time
  readonly written: Written
}

const ours: MeasuredTurn[] = []
const floor: MeasuredTurn[] = []
for (let turn = 0; turn < TURNS; turn++) {
  const start = bytesWritten()
  const bareTime = await timed(async () => {
    for (let n = 0; n < ROUNDS * COMMITS_PER_ROUND; n++) insert.run(body)
  })
  const between = bytesWritten()
  const time = await timed(() => (watched ? readAll(agent.run('c', 'Add up.')) : agent.run('c', 'Add up.').result))
  floor.push({ time: bareTime, written: difference(between, start) })
  ours.push({ time, written: difference(bytesWritten(), between) })
}
await agent.close()
await store.close()
bare.close()

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length / ROUNDS
const medianOf = (values: readonly number[]) => (values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN) / ROUNDS
const timeOf = (turns: readonly MeasuredTurn[]): Time => ({
  ms: medianOf(turns.map(({ time }) => time.ms)),
  cpu: medianOf(turns.map(({ time }) => time.cpu)),
})
const kilobytesOf = (turns: readonly MeasuredTurn[], kind: keyof Written) => meanOf(turns.map(({ written }) => written[kind])) / 1024
give({
  ...namedTimes({ early: timeOf(ours.slice(1, 11)), late: timeOf(ours.slice(-10)) }),
  ...namedTimes({ floorEarly: timeOf(floor.slice(1, 11)), floorLate: timeOf(floor.slice(-10)) }),
  passed: kilobytesOf(ours.slice(1), 'passed'),
  floorPassed: kilobytesOf(floor.slice(1), 'passed'),
  onDisk: kilobytesOf(ours.slice(1), 'onDisk'),
  floorOnDisk: kilobytesOf(floor.slice(1), 'onDisk'),
})

/** What this process has written: the bytes that it passed to the operating system, and the bytes of the pages on the disk. */
interface Written {
  readonly passed: number
  readonly onDisk: number
}

/** Both numbers are NaN on systems without `/proc`. */
function bytesWritten(): Written {
  const counts = existsSync('/proc/self/io') ? readFileSync('/proc/self/io', 'utf8') : ''
  const count = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(counts)?.[1])
  return { passed: count('wchar'), onDisk: count('write_bytes') }
}

function difference(after: Written, before: Written): Written {
  return { passed: after.passed - before.passed, onDisk: after.onDisk - before.onDisk }
}
