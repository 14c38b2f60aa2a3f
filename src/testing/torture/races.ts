import { checkJournals, checkStored, readStates, twice, withStore } from './checks.ts'
import { stopTime } from './place.ts'
import { startProcess, type TortureProcess } from './processes.ts'
import { notesOf, readNotes } from './records.ts'
import { between, type Outcome, type Scenario, type Violation, violation } from './scenario.ts'
import { takeRest } from './store-tasks.ts'
import type { Task } from './tasks.ts'

const PROCESSES = 4
const CLAIMED = 24

/** Several processes claim the same conversations at the same moment. They stay alive, because a dead process would lose its leases. */
const claims: Scenario = {
  name: 'race-claims',
  title: 'several processes claim the same conversations at the same moment',
  async run(rig): Promise<Outcome> {
    const violations: Violation[] = []
    for (const from of ['names', 'work list'] as const) {
      const place = await rig.newPlace()
      stopTime(place)
      const ids = Array.from({ length: CLAIMED }, (_, index) => `tenant${index % 3}/p/u/claimed-${index}`)
      await withStore(place, async (store) => {
        const ts = new Date().toISOString()
        for (const id of ids) await store.offer(id, { event_id: 'e1', kind: 'followup', ts, text: 'Hello.' }, { create: true })
      })
      const children = await Promise.all(
        Array.from({ length: PROCESSES }, (_, index) => {
          const rotated = [...ids.slice(index * 2), ...ids.slice(0, index * 2)]
          return startProcess(place, { do: 'claim', conversations: rotated, from })
        }),
      )
      for (const child of children) child.begin()
      const results = await Promise.all(children.map(({ done }) => done))
      const claimed = results.flatMap((result) => result.claimed ?? [])
      const names = claimed.map(({ conversationId }) => conversationId)
      const epochs = claimed.map(({ conversationId, epoch }) => `${conversationId} ${epoch}`)
      const states = await readStates(place, ids)
      await Promise.all(children.map((child) => child.end()))
      violations.push(
        ...twice(names).map((id) => violation('stale', `${id} was given to two processes (${from})`)),
        ...twice(epochs).map((id) => violation('stale', `two claims have the same epoch: ${id} (${from})`)),
        ...ids.filter((id) => !names.includes(id)).map((id) => violation('stuck', `${id} was given to no process (${from})`)),
        ...results.flatMap(({ errors = [] }) => errors.map((text) => violation('stale', `a claim could not append: ${text}`))),
        ...[...states]
          .filter(([, { journal }]) => journal.length !== 1)
          .map(([id, { journal }]) => violation('doubled', `${id} has ${journal.length} entries of claims, not 1`)),
        ...checkStored(readNotes(place.records), states),
      )
    }
    return { faults: 2 * PROCESSES, checks: 2 * CLAIMED, violations }
  },
}

const EVENTS = 24

/**
 * Several processes offer the same events, and also events of their own, while other processes take the offers. One process of each kind is
 * killed. An event counts as offered if the store has acknowledged it to any process.
 */
const offers: Scenario = {
  name: 'race-offers',
  title: 'processes offer the same events while others take them, and both are killed',
  async run(rig): Promise<Outcome> {
    const place = await rig.newPlace()
    const conversationId = 'offered'
    const shared = Array.from({ length: EVENTS }, (_, index) => `shared-${index}`)
    const idsOf = (index: number) => shared.flatMap((id, at) => [id, `own-${index}-${at}`])
    const start = (task: Task) => startProcess(place, task)
    const offering = await Promise.all([0, 1, 2].map((index) => start({ do: 'offer', conversationId, eventIds: idsOf(index) })))
    // the conversation has to exist before it can be claimed by a process that takes offers
    let taker: TortureProcess = await start({ do: 'take', conversationId })
    const victim = offering[0] as TortureProcess
    for (const child of [...offering, taker]) child.begin()
    let kills = 0
    const killTakers = async () => {
      for (; kills < 3; kills++) {
        await Promise.race([taker.steps(between(rig, 1, 5)), Promise.all(offering.slice(1).map(({ done }) => done))])
        await taker.kill()
        taker = await start({ do: 'take', conversationId })
        taker.begin()
      }
    }
    const killOffering = async () => {
      await victim.steps(between(rig, 3, 30))
      await victim.kill()
    }
    await Promise.all([killTakers(), killOffering(), ...offering.slice(1).map(({ done }) => done)])
    await Promise.all(offering.slice(1).map((child) => child.end()))
    await taker.kill()
    const left = await withStore(place, (store) => takeRest(store, conversationId))
    const notes = readNotes(place.records)
    const states = await readStates(place, [conversationId])
    const journal = states.get(conversationId)?.journal ?? []
    const accepted = journal.flatMap(({ change }) => (change.type === 'event.accepted' ? [change.event.event_id] : []))
    const offered = notesOf(notes, 'offered')
    const told = offered.filter(({ result }) => result === 'offered').map(({ eventId }) => eventId)
    const acknowledged = new Set(offered.map(({ eventId }) => eventId))
    const violations: readonly Violation[] = [
      ...left,
      ...twice(told).map((id) => violation('doubled', `two processes were told that they are the first to offer ${id}`)),
      ...[...acknowledged].filter((id) => !accepted.includes(id)).map((id) => violation('lost', `the offered event ${id} was not taken`)),
      ...[0, 1, 2].flatMap((index) => checkOrder(accepted.filter((id) => id.startsWith(`own-${index}-`)))),
      ...checkJournals(states),
      ...checkStored(notes, states),
    ]
    return { faults: 4, checks: offered.length + accepted.length, violations }
  },
}

/** Checks that the offers of one process are taken in the order in which the process made them. */
function checkOrder(ids: readonly string[]): readonly Violation[] {
  const numbers = ids.map((id) => Number(id.split('-')[2]))
  const at = numbers.findIndex((number, index) => index > 0 && number < (numbers[index - 1] ?? 0))
  return at < 0 ? [] : [violation('disordered', `the event ${ids[at]} was offered before ${ids[at - 1]}, but was taken after it`)]
}

export const raceScenarios: readonly Scenario[] = [claims, offers]
