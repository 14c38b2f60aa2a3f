import { createSystemClock } from '../../adapters/clock/system.ts'
import { createAgentFrom } from '../../agent/agent.ts'
import { replay } from '../../agent/replay/replay.ts'
import { type ConversationState, checkEffects, checkJournals, readStates, stateOf, withStore } from './checks.ts'
import { holdPoints, killAtEachCommit } from './kills.ts'
import { longTurnModel, longTurnTools, noObserver, normalizedLines, settings, withoutResultsOf } from './long-turn.ts'
import { startProcess } from './processes.ts'
import { hashOf, notesOf, notesSince, readNotes } from './records.ts'
import { ROUNDS } from './recover-all.ts'
import { type Outcome, type Scenario, type Violation, violation } from './scenario.ts'
import { takeRest } from './store-tasks.ts'

// The obligations: what an agent must guarantee when it resumes a turn. `daybook torture` prints them in a second table.

const prefixContinuation: Scenario = {
  name: 'prefix-continuation',
  title: 'prefix continuation: a resumed turn continues after its last entry, and its prompts begin with the prompts from before the kill',
  isObligation: true,
  async run(rig): Promise<Outcome> {
    const { ids, before, after, notes } = await killAtEachCommit(rig)
    const resumed = new Set(notesOf(notesSince(notes, 'killed'), 'asked'))
    const violations = ids.flatMap((id): readonly Violation[] => {
      const [earlier, later] = [before.get(id)?.journal ?? [], after.get(id)?.journal ?? []]
      const at = earlier.findIndex((entry, index) => {
        const same = later[index]
        return same === undefined || same.seq !== entry.seq || hashOf(same.change) !== hashOf(entry.change)
      })
      const prompts = notesOf(notes, 'asked').filter(({ conversationId }) => conversationId === id)
      const first = prompts.findIndex((prompt) => resumed.has(prompt))
      const [last, next] = [prompts[first - 1], prompts[first]]
      const isContinued = !last || !next || next.cached.startsWith(last.cached)
      return [
        ...(at < 0 ? [] : [violation('lost', `${id}: entry ${at + 1} from before the kill is not in the resumed turn`)]),
        ...(isContinued
          ? []
          : [violation('different', `${id}: the first prompt after the kill does not begin with the last prompt before it`)]),
      ]
    })
    return { faults: ids.length, checks: 2 * ids.length, violations }
  },
}

const effectOnce: Scenario = {
  name: 'effect-exactly-once',
  title: 'effect exactly once: each call ran once, or the journal says that it is repeated or that its outcome is unknown',
  isObligation: true,
  async run(rig): Promise<Outcome> {
    const { ids, after, notes } = await killAtEachCommit(rig)
    return { faults: ids.length, checks: notesOf(notes, 'effect').length, violations: checkEffects(notes, after) }
  },
}

/** The blocks of a turn without its ids and times, and without the results that may be unknown. */
function linesOf({ timeline }: ConversationState, alsoUnknownIn?: ConversationState): readonly string[] {
  if (!timeline) return []
  const { lines, unknown } = normalizedLines(timeline)
  const others = alsoUnknownIn?.timeline ? normalizedLines(alsoUnknownIn.timeline).unknown : []
  return withoutResultsOf(lines, [...unknown, ...others])
}

const recoveryDeterminism: Scenario = {
  name: 'recovery-determinism',
  title: 'recovery determinism: turns that were killed at the same commit continue in the same way, and replay without a divergence',
  isObligation: true,
  async run(rig): Promise<Outcome> {
    const { place, after } = await killAtEachCommit(rig)
    const violations: Violation[] = []
    let checks = 0
    await withStore(place, async (store) => {
      for (const point of holdPoints) {
        const [one, two] = [after.get(`${point}-1`), after.get(`${point}-2`)]
        if (!one || !two) continue
        checks++
        if (linesOf(one, two).join('\n') !== linesOf(two, one).join('\n'))
          violations.push(violation('different', `${point}: two turns that were killed at the same commit ended differently`))
        for (const { divergence } of await replay(store, `${point}-1`, { tools: longTurnTools(noObserver), settings })) {
          checks++
          if (divergence) violations.push(violation('different', `${point}: the resumed turn takes another course in a replay`))
        }
      }
    })
    return { faults: holdPoints.length, checks, violations }
  },
}

const forkDeterminism: Scenario = {
  name: 'fork-determinism',
  title: 'fork determinism: two forks at the same entry are equal, continue in the same way, and leave the original unchanged',
  isObligation: true,
  async run(rig): Promise<Outcome> {
    const place = await rig.newPlace()
    const violations: Violation[] = []
    let checks = 0
    const child = await startProcess(place, { do: 'turns', conversations: ['original'], rounds: ROUNDS, stepMs: 0 })
    child.begin()
    await child.done
    await child.end()
    await withStore(place, async (store) => {
      const clock = createSystemClock()
      const agent = createAgentFrom({ model: longTurnModel(noObserver, 3), tools: longTurnTools(noObserver), store, clock, settings })
      const before = await stateOf(store, 'original')
      for (const { seq } of before.journal.slice(1)) {
        const names = [1, 2].map((twin) => `fork-${seq}-${twin}`)
        for (const name of names) await agent.archive.fork('original', name, seq)
        const forked = await Promise.all(names.map(async (name) => JSON.stringify((await agent.archive.timeline(name)).blocks)))
        if (forked[0] !== forked[1]) violations.push(violation('different', `two forks at entry ${seq} are not equal`))
        for (const name of names) await agent.run(name, 'Go on.').result
        const [one, two] = await Promise.all(names.map((name) => stateOf(store, name)))
        if (one && two && linesOf(one).join('\n') !== linesOf(two).join('\n'))
          violations.push(violation('different', `two forks at entry ${seq} continued differently`))
        checks += 2
      }
      const after = await stateOf(store, 'original')
      if (JSON.stringify(after.journal) !== JSON.stringify(before.journal))
        violations.push(violation('different', 'the original has changed while it was forked'))
      await agent.close()
    })
    return { faults: 0, checks, violations }
  },
}

const TAKES = 4

/** A process takes offers and is killed right before or after the commit that takes them. Then other processes take the offers. */
const consumeOnce: Scenario = {
  name: 'consume-once',
  title: 'consume once: an event that was taken right before or after a kill is taken once',
  isObligation: true,
  async run(rig): Promise<Outcome> {
    const violations: Violation[] = []
    const points = Array.from({ length: TAKES }, (_, index) => [`before-${index + 1}`, `after-${index + 1}`] as const).flat()
    const place = await rig.newPlace()
    const ids = points.map((point) => `consumed-${point}`)
    const eventIds = Array.from({ length: TAKES * 3 }, (_, index) => `event-${index}`)
    await withStore(place, async (store) => {
      for (const id of ids)
        for (const event_id of eventIds)
          await store.offer(id, { event_id, kind: 'followup', ts: new Date().toISOString(), text: event_id }, { create: true })
    })
    const takers = await Promise.all(
      points.map((hold, index) => startProcess(place, { do: 'take', conversationId: ids[index] ?? '', hold })),
    )
    for (const taker of takers) taker.begin()
    await Promise.all(takers.map((taker) => taker.held))
    await Promise.all(takers.map((taker) => taker.kill()))
    await withStore(place, async (store) => {
      for (const id of ids) violations.push(...(await takeRest(store, id)))
      for (const id of ids)
        for (const eventId of eventIds)
          if ((await store.findOffer(id, eventId)) !== 'accepted') violations.push(violation('stuck', `${id}: ${eventId} is still open`))
    })
    const states = await readStates(place, ids)
    for (const [id, { journal }] of states) {
      const accepted = journal.flatMap(({ change }) => (change.type === 'event.accepted' ? [change.event.event_id] : []))
      if (accepted.join() !== eventIds.join())
        violations.push(violation('different', `${id}: its events differ from the offered events, or have another order`))
    }
    violations.push(...checkJournals(states))
    return { faults: takers.length, checks: ids.length * eventIds.length + readNotes(place.records).length, violations }
  },
}

export const obligationScenarios: readonly Scenario[] = [prefixContinuation, effectOnce, forkDeterminism, consumeOnce, recoveryDeterminism]
