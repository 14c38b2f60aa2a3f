import { checkEffects, checkFinished, checkJournals, checkPaidOnce, checkStored, readStates, type States } from './checks.ts'
import { entriesOf } from './long-turn.ts'
import type { TorturePlace } from './place.ts'
import { startProcess } from './processes.ts'
import { notesSince, openNotes, readNotes, type TortureNote } from './records.ts'
import { ROUNDS, recoverAll, undisturbedLines } from './recover-all.ts'
import { between, type Outcome, type Rig, type Scenario, type Violation } from './scenario.ts'
import type { HoldPoint } from './tasks.ts'

/** The points before and after each commit of a turn. */
export const holdPoints: readonly HoldPoint[] = Array.from(
  { length: entriesOf(ROUNDS) },
  (_, index) => [`before-${index + 1}`, `after-${index + 1}`] as const,
).flat()

/** Turns that were held when their process was killed, and their state afterwards. Two turns were held at each of the `holdPoints`. */
export interface KilledTurns {
  readonly place: TorturePlace
  readonly ids: readonly string[]
  readonly before: States
  readonly after: States
  readonly notes: readonly TortureNote[]
  readonly recovery: readonly Violation[]
  readonly reference: readonly string[]
}

/** Kills a process in which two turns are held at each of the `holdPoints`. Then two other processes resume the turns at the same time. */
export const killAtEachCommit = (rig: Rig): Promise<KilledTurns> =>
  rig.once('killed at each commit', async () => {
    const place = await rig.newPlace()
    const holds = Object.fromEntries(holdPoints.flatMap((point) => [1, 2].map((twin) => [`${point}-${twin}`, point] as const)))
    const ids = Object.keys(holds)
    const child = await startProcess(place, { do: 'turns', conversations: ids, rounds: ROUNDS, stepMs: 0, holds })
    child.begin()
    await child.held
    await child.kill()
    const before = await readStates(place, ids)
    openNotes(place.records)({ note: 'phase', name: 'killed' })
    const recovery = await recoverAll(place, { processes: 2 })
    const after = await readStates(place, ids)
    return { place, ids, before, after, notes: readNotes(place.records), recovery, reference: await undisturbedLines() }
  })

const atEachCommit: Scenario = {
  name: 'kill-commit',
  title: 'a process is killed before and after each commit of a turn',
  async run(rig): Promise<Outcome> {
    const { ids, before, after, notes, recovery, reference } = await killAtEachCommit(rig)
    return {
      faults: ids.length,
      checks: notes.length,
      violations: [
        ...recovery,
        ...checkJournals(after),
        ...checkStored(notes, after),
        ...checkEffects(notes, after),
        ...checkPaidOnce(before, notesSince(notes, 'killed')),
        ...checkFinished(after, reference),
      ],
    }
  },
}

const KILLS = 4
const CONVERSATIONS = 6

const atRandom: Scenario = {
  name: 'kill-random',
  title: 'processes are killed at random moments, even while they continue the turns of a killed process',
  async run(rig): Promise<Outcome> {
    const place = await rig.newPlace()
    const ids = Array.from({ length: CONVERSATIONS }, (_, index) => `random-${index + 1}`)
    const violations: Violation[] = []
    const note = openNotes(place.records)
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await readStates(place, ids)
      note({ note: 'phase', name: `kill ${kill}` })
      const work = kill === 0 ? ({ do: 'turns', conversations: ids } as const) : ({ do: 'recover' } as const)
      const child = await startProcess(place, { ...work, rounds: ROUNDS, stepMs: 1 })
      child.begin()
      await Promise.race([child.steps(between(rig, 20, 160)), child.done])
      await child.kill()
      violations.push(...checkPaidOnce(before, notesSince(readNotes(place.records), `kill ${kill}`)))
    }
    const before = await readStates(place, ids)
    note({ note: 'phase', name: 'last' })
    violations.push(...(await recoverAll(place)))
    const [after, notes] = [await readStates(place, ids), readNotes(place.records)]
    violations.push(
      ...checkPaidOnce(before, notesSince(notes, 'last')),
      ...checkJournals(after),
      ...checkStored(notes, after),
      ...checkEffects(notes, after),
      ...checkFinished(after, await undisturbedLines()),
    )
    return { faults: KILLS, checks: notes.length, violations }
  },
}

export const killScenarios: readonly Scenario[] = [atEachCommit, atRandom]
