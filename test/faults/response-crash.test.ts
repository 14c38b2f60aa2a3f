import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { LEASE_MS } from '../../src/ports/store.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { type ConversationRecord, openCrashFolder, recordOf } from '../support/crash/crash-folder.ts'
import { finalAnswer, logged, type Place, placeFolder, slowTurns } from '../support/crash/slow-turns.ts'

// A folder in memory, because it is faster. A killed process loses no data that the kernel has accepted, so a disk is not needed.
const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'daybook-response-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const places = Object.keys(slowTurns) as Place[]

/** Starts a program in a new pid namespace. With `--kill-child` the program dies with the process `unshare`, which the test kills. */
const namespace = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child=SIGKILL']

interface Setting {
  readonly name: string
  /** The command that starts each child. */
  readonly command: readonly string[]
  /**
   * By how much the clock of the second process is ahead. In another pid namespace it can not see that the owner is dead, so the lease
   * must have expired.
   */
  readonly aheadMs: number
}

const settings: readonly Setting[] = [
  { name: 'directly', command: [], aheadMs: 0 },
  { name: 'each in its own pid namespace', command: namespace, aheadMs: LEASE_MS + 1_000 },
]

function start({ command, aheadMs }: Setting, folder: string, mode: 'hang' | 'recover') {
  const [program = '', ...args] = [
    ...command,
    process.execPath,
    join(import.meta.dirname, 'response-child.ts'),
    folder,
    mode,
    String(aheadMs),
  ]
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return { child, lines: createInterface({ input: child.stdout }), exited: once(child, 'exit') as Promise<[number | null, string | null]> }
}

async function records(folder: string): Promise<ReadonlyMap<Place, ConversationRecord>> {
  const byPlace = new Map<Place, ConversationRecord>()
  for (const place of places) {
    const { store } = await openCrashFolder(placeFolder(folder, place))
    byPlace.set(place, await recordOf(store, 'c1'))
    await store.close()
  }
  return byPlace
}

const repetitions = (lines: readonly string[]) => lines.length - new Set(lines).size

/** What the resumed turn has lost, repeated or paid twice, and how it has ended. */
function outcomeOf(folder: string, place: Place, crashed: ConversationRecord, recovered: ConversationRecord) {
  const answers = logged(folder, place, 'answers')
  const closed = recovered.journal.findLast((change) => change.type === 'turn.closed')
  const turnId = crashed.timeline?.openTurn?.turn_id
  const responses = recovered.journal.filter((change) => change.type === 'response.received' && change.turn_id === turnId)
  return {
    place,
    lost: crashed.journal.filter((change, index) => JSON.stringify(change) !== JSON.stringify(recovered.journal[index])).length,
    paidTwice: repetitions(answers),
    repeatedEffects: repetitions(logged(folder, place, 'payments')),
    calls: answers.map((line) => line.split(' ')[0]).sort(),
    responses: responses.length,
    exit: closed?.type === 'turn.closed' && closed.turn_id === turnId ? closed.exit_reason : undefined,
    title: recovered.timeline?.title,
    completions: recovered.timeline
      ? blocksOf(recovered.timeline).flatMap(({ type, turn_id, text }) =>
          type === 'assistant.completion' && turn_id === turnId ? [text] : [],
        )
      : [],
  }
}

it.for(settings)(
  'a process killed in the exit grace, in a hook, while it publishes, in a title or in a summary loses nothing and pays for nothing twice: $name',
  { timeout: 120_000 },
  async (setting, context) => {
    countAttempts(context, places.length)
    const [program, ...args] = [...setting.command, 'true']
    const tried = spawnSync(program as string, args, { encoding: 'utf8' })
    if (tried.status !== 0) throw new Error(`this test needs ${program} and the right to use it: ${tried.error ?? tried.stderr}`)
    const folder = mkdtempSync(join(root, 'run-'))
    const dying = start(setting, folder, 'hang')
    for await (const line of dying.lines) if (line === 'all hang') dying.child.kill('SIGKILL')
    expect(await dying.exited).toEqual([null, 'SIGKILL'])
    const crashed = await records(folder)
    expect([...crashed].filter(([, { timeline }]) => timeline?.openTurn === undefined)).toEqual([])

    expect(await start(setting, folder, 'recover').exited).toEqual([0, null])
    const recovered = await records(folder)
    const outcomes = places.map((place) =>
      outcomeOf(folder, place, crashed.get(place) as ConversationRecord, recovered.get(place) as ConversationRecord),
    )
    expect(outcomes).toEqual(
      places.map((place) => {
        const { calls, exitReason } = slowTurns[place]
        return {
          place,
          lost: 0,
          paidTwice: 0,
          repeatedEffects: 0,
          calls: calls.toSorted(),
          responses: calls.length,
          exit: exitReason,
          title: 'Rome',
          completions: [finalAnswer],
        }
      }),
    )
  },
)
