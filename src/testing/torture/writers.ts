import { applyChange } from '../../core/timeline/apply.ts'
import { toPayload } from '../../core/timeline/payload.ts'
import { emptyTimeline } from '../../core/timeline/timeline.ts'
import { checkJournals, checkStored, readStates, type States, withStore } from './checks.ts'
import type { TorturePlace } from './place.ts'
import { startProcess } from './processes.ts'
import { readNotes, type TortureNote } from './records.ts'
import { between, type Outcome, type Rig, type Scenario, type Violation, violation } from './scenario.ts'

const GROUP = 4
const KILLS = 4
const ids = ['written-1', 'written-2', 'written-3']

interface KilledWriters {
  readonly place: TorturePlace
  readonly states: States
  readonly notes: readonly TortureNote[]
}

/** Processes that append groups of entries, large texts and compactions as fast as they can, and are killed. */
const killWriters = (rig: Rig): Promise<KilledWriters> =>
  rig.once('killed writers', async () => {
    const place = await rig.newPlace()
    for (let kill = 0; kill < KILLS; kill++) {
      const child = await startProcess(place, { do: 'write', conversations: ids, group: GROUP })
      child.begin()
      await Promise.race([child.steps(between(rig, 5, 40)), child.done.then(({ errors = [] }) => Promise.reject(new Error(errors[0])))])
      await child.kill()
    }
    return { place, states: await readStates(place, ids), notes: readNotes(place.records) }
  })

const appends: Scenario = {
  name: 'kill-append',
  title: 'a process is killed while it appends groups of entries and blobs to several conversations',
  async run(rig): Promise<Outcome> {
    const { states, notes } = await killWriters(rig)
    const torn = [...states]
      .filter(([, { journal }]) => journal.length % GROUP !== 0)
      .map(([id, { journal }]) => violation('torn', `${id} has ${journal.length} entries, and they were appended ${GROUP} at a time`))
    return { faults: KILLS, checks: notes.length, violations: [...torn, ...checkJournals(states), ...checkStored(notes, states)] }
  },
}

/**
 * Checks that every timeline that the store loads equals the timeline that results from all entries of the journal. Also checks that
 * a copy of the conversation has the same blocks.
 */
const checkpoints: Scenario = {
  name: 'checkpoint-validity',
  title: 'checkpoint validity: a loaded timeline equals the one that results from all entries, even after compactions and in a copy',
  isObligation: true,
  async run(rig): Promise<Outcome> {
    const { place, states } = await killWriters(rig)
    const violations: Violation[] = []
    await withStore(place, async (store) => {
      for (const [id, { journal, timeline }] of states) {
        const sum = journal.reduce((before, { change }) => applyChange(before, change), emptyTimeline())
        const [expected, found] = [JSON.stringify(toPayload(sum)), JSON.stringify(timeline && toPayload(timeline))]
        if (expected !== found)
          violations.push(violation('different', `${id}: the loaded timeline differs from the one that results from its entries`))
        await store.importBundle(await store.exportBundle(id), { as: `${id}-copy` })
        const copy = await store.loadVisible(`${id}-copy`)
        const [original, copied] = [
          JSON.stringify(timeline && toPayload(timeline).blocks),
          JSON.stringify(copy && toPayload(copy.timeline).blocks),
        ]
        if (original !== copied) violations.push(violation('different', `${id}: its copy has other blocks`))
      }
    })
    return { faults: KILLS, checks: 2 * ids.length, violations }
  },
}

export const writerScenarios: readonly Scenario[] = [appends, checkpoints]
