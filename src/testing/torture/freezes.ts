import { LEASE_MS } from '../../ports/store.ts'
import { checkEffects, checkFinished, checkJournals, checkPaidOnce, checkStored, readStates, type States, withStore } from './checks.ts'
import { holdPoints } from './kills.ts'
import { PAST_LEASE_MS, passTime, stopTime } from './place.ts'
import { startProcess } from './processes.ts'
import { notesOf, notesSince, openNotes, readNotes } from './records.ts'
import { ROUNDS, recoverAll, undisturbedLines } from './recover-all.ts'
import { type Outcome, type Scenario, type Violation, violation } from './scenario.ts'

/** The conversations whose journals have more entries in `after` than in `before`. */
const grown = (before: States, after: States): readonly string[] =>
  [...after].flatMap(([id, { journal }]) => (journal.length > (before.get(id)?.journal.length ?? 0) ? [id] : []))

const frozen: Scenario = {
  name: 'freeze',
  title: 'a process is frozen at each commit for longer than its lease, and woken after another process has continued its turn',
  async run(rig): Promise<Outcome> {
    const place = await rig.newPlace()
    stopTime(place)
    const holds = Object.fromEntries(holdPoints.map((point) => [point, point]))
    const ids = Object.keys(holds)
    const note = openNotes(place.records)
    const violations: Violation[] = []
    const sleeper = await startProcess(place, { do: 'turns', conversations: ids, rounds: ROUNDS, stepMs: 0, holds })
    sleeper.begin()
    await sleeper.held
    await sleeper.freeze()
    const frozenAt = performance.now()
    const before = await readStates(place, ids)
    const early = await startProcess(place, { do: 'recover', rounds: ROUNDS, stepMs: 0 })
    early.begin()
    await early.done
    await early.end()
    // without the movable clock, the lease of the frozen process may already have ended on a slow machine
    const hadLease = !place.realTime || performance.now() - frozenAt < LEASE_MS / 2
    for (const id of hadLease ? grown(before, await readStates(place, ids)) : [])
      violations.push(violation('stale', `${id}: another process continued the turn while its owner was alive and had the lease`))
    await passTime(place, PAST_LEASE_MS)
    note({ note: 'phase', name: 'taken over' })
    violations.push(...(await recoverAll(place)))
    const taken = await readStates(place, ids)
    note({ note: 'phase', name: 'woken' })
    sleeper.wake()
    sleeper.send('go on')
    await sleeper.done
    await sleeper.end()
    const after = await readStates(place, ids)
    const notes = readNotes(place.records)
    // Before the first commit of a turn and after its last commit, no other process has a reason to take the turn over. In these cases, the
    // woken process may continue.
    const takenOver = new Set(grown(before, taken))
    for (const id of grown(taken, after).filter((id) => takenOver.has(id)))
      violations.push(violation('stale', `${id}: the woken process wrote to a conversation that another process had taken over`))
    const woken = notesSince(notes, 'woken')
    for (const { conversationId } of notesOf(woken, 'renewed').filter(({ conversationId }) => takenOver.has(conversationId)))
      violations.push(violation('stale', `${conversationId}: the woken process renewed a lease that another process had taken over`))
    const byOthers = notesSince(notes, 'taken over').filter((each) => !('process' in each) || each.process !== sleeper.name)
    violations.push(
      ...checkJournals(after),
      ...checkStored(notes, after),
      ...checkEffects(notes, after),
      ...checkPaidOnce(before, byOthers),
      ...checkFinished(after, await undisturbedLines()),
    )
    return { faults: ids.length, checks: notes.length, violations }
  },
}

/** An owner on another machine, so that a store can not find out whether it is alive. */
const ownerOf = (id: string) => ({ id, host: `host-of-${id}`, pid: 4711 })

const leases: Scenario = {
  name: 'leases',
  title: 'leases of processes on other machines are held, renewed, expired or released',
  async run(rig): Promise<Outcome> {
    const place = await rig.newPlace()
    stopTime(place)
    const violations: Violation[] = []
    let checks = 0
    await withStore(place, async (store) => {
      const refused = async (work: () => Promise<unknown>, code: string): Promise<boolean> => {
        checks++
        try {
          await work()
          return false
        } catch (error) {
          if ((error as { code?: unknown }).code === code) return true
          throw error
        }
      }
      const must = (isTrue: boolean, kind: 'stale' | 'stuck', text: string) => {
        if (!isTrue) violations.push(violation(kind, text))
      }
      const [a, b, c] = ['a', 'b', 'c'].map(ownerOf) as [ReturnType<typeof ownerOf>, ReturnType<typeof ownerOf>, ReturnType<typeof ownerOf>]
      const claimBy = (owner: typeof a) => () => store.claim('leased', owner)
      const first = await store.claim('leased', a)
      must(await refused(claimBy(b), 'conversation.busy'), 'stale', 'a second process got a lease that was held')
      await passTime(place, PAST_LEASE_MS * 0.7)
      await store.renew(first)
      await passTime(place, PAST_LEASE_MS * 0.7)
      must(await refused(claimBy(b), 'conversation.busy'), 'stale', 'a second process got a lease that had been renewed')
      await passTime(place, PAST_LEASE_MS)
      const isStuck = await refused(claimBy(b), 'conversation.busy')
      must(!isStuck, 'stuck', 'an expired lease can not be taken')
      const second = isStuck ? await store.claim('leased', b, { takeOver: 'always' }) : undefined
      must(await refused(() => store.renew(first), 'conversation.superseded'), 'stale', 'a lost lease could be renewed')
      must(
        await refused(
          () => store.append(first, [{ type: 'title.set', ts: new Date().toISOString(), title: 'late' }]),
          'conversation.superseded',
        ),
        'stale',
        'an append with an old epoch was accepted',
      )
      await store.release(first)
      must(await refused(claimBy(c), 'conversation.busy'), 'stale', 'the release of a lost lease ended the lease of its new owner')
      if (second) await store.release(second)
    })
    await withStore(place, async (store) => {
      const claim = await store.claim('returned', ownerOf('a'))
      await store.release(claim)
      checks++
      try {
        await store.claim('returned', ownerOf('b'))
      } catch {
        violations.push(violation('stuck', 'a lease that was released can not be taken'))
      }
    })
    return { faults: 0, checks, violations }
  },
}

export const freezeScenarios: readonly Scenario[] = [frozen, leases]
