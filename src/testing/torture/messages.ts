import { setTimeout as sleep } from 'node:timers/promises'
import { blocksOfChange } from '../../core/timeline/change.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { checkJournals, checkStored, readStates, type States, twice, withStore } from './checks.ts'
import { startProcess, type TortureProcess } from './processes.ts'
import { hashOf, notesOf, readNotes, type TortureNote } from './records.ts'
import { recoverAll } from './recover-all.ts'
import { between, type Outcome, type Scenario, type Violation, violation } from './scenario.ts'

const ROUNDS = 3
const CONVERSATIONS = 4
const MESSAGES = 3

/**
 * Clients send each message to two processes at the same time, and repeat this until the message is accepted. The processes are killed one
 * after the other.
 */
const messages: Scenario = {
  name: 'messages',
  title: 'messages are sent to two processes at once, and again after each is killed',
  async run(rig): Promise<Outcome> {
    const place = await rig.newPlace()
    const ids = Array.from({ length: CONVERSATIONS }, (_, index) => `asked-${index}`)
    const all = ids.flatMap((conversationId) =>
      Array.from({ length: MESSAGES }, (_, index) => ({ conversationId, eventId: `${conversationId}-message-${index}` })),
    )
    const start = () => startProcess(place, { do: 'send', messages: all, rounds: ROUNDS, stepMs: 1 })
    const servers = await Promise.all([start(), start()])
    for (const server of servers) server.begin()
    for (let kill = 0; kill < 3; kill++) {
      const server = servers[kill % 2] as TortureProcess
      await Promise.race([server.steps(between(rig, 5, 60)), sleep(2_000)])
      await server.kill()
      const next = await start()
      servers[kill % 2] = next
      next.begin()
    }
    const results = await Promise.all(servers.map(({ done }) => done))
    await Promise.all(servers.map((server) => server.kill()))
    const recovery = await recoverAll(place, { rounds: ROUNDS })
    const [states, notes] = [await readStates(place, ids), readNotes(place.records)]
    const violations = [
      ...results.flatMap(({ errors = [] }) => errors.map((text) => violation('error', `a message was not accepted: ${text}`))),
      ...recovery,
      ...checkAnswered(notes, states),
      ...checkJournals(states),
      ...checkStored(notes, states),
      ...checkCallsOnce(notes, states),
    ]
    return { faults: 5, checks: notes.length, violations }
  },
}

/** Checks that each accepted message was read by exactly one turn, and that this turn has ended. */
function checkAnswered(notes: readonly TortureNote[], states: States): readonly Violation[] {
  const accepted = new Map(notesOf(notes, 'accepted').map(({ conversationId, eventId }) => [eventId, conversationId]))
  return [...accepted].flatMap(([eventId, conversationId]) => {
    const changes = (states.get(conversationId)?.journal ?? []).map(({ change }) => change)
    if (!changes.some((change) => change.type === 'event.accepted' && change.event.event_id === eventId))
      return [violation('lost', `the accepted message ${eventId} is not in the journal`)]
    const readers = changes.flatMap((change) =>
      change.type === 'event.folded' && change.event_ids.includes(eventId) ? [change.turn_id] : [],
    )
    const isAnswered = readers.some((turnId) => changes.some((change) => change.type === 'turn.closed' && change.turn_id === turnId))
    return isAnswered ? [] : [violation('stuck', `the message ${eventId} was not answered`)]
  })
}

/** A conversation has several turns here, so effects are compared by their calls, and not by their rounds. */
function checkCallsOnce(notes: readonly TortureNote[], states: States): readonly Violation[] {
  const changes = [...states.values()].flatMap(({ journal }) => journal.map(({ change }) => change))
  const repeated = new Set(changes.flatMap((change) => (change.type === 'call.repeated' ? [change.call_id] : [])))
  const stored = new Set(changes.flatMap((change) => blocksOfChange(change).map((block) => block.call_id)))
  const ran = notesOf(notes, 'effect').map(({ callId }) => callId)
  return [
    ...ran.filter((callId) => !stored.has(callId)).map((callId) => violation('lost', `the call ${callId} ran and is not in the journal`)),
    ...twice(ran)
      .filter((callId) => !repeated.has(callId))
      .map((callId) => violation('repeated', `the call ${callId} ran twice`)),
  ]
}

const FOLLOWED = 4

/**
 * How long followers may take to receive their last entries. The time is long, so that a correct store does not fail on a loaded machine.
 */
const WAIT_FOR_FOLLOWERS_MS = 120_000

/**
 * Followers read conversations while their turns run. Processes with turns and followers are killed. A new follower continues after the
 * last entry that the killed follower received.
 */
const followers: Scenario = {
  name: 'followers',
  title: 'followers read turns while the processes of the turns and of the followers are killed',
  async run(rig): Promise<Outcome> {
    const place = await rig.newPlace()
    const ids = Array.from({ length: FOLLOWED }, (_, index) => `followed-${index}`)
    const names = ['follower-1', 'follower-2']
    const lastSeen = (follower: string) => {
      const seen = notesOf(readNotes(place.records), 'seen').filter((note) => note.follower === follower)
      return Object.fromEntries(ids.map((id) => [id, seen.filter(({ conversationId }) => conversationId === id).at(-1)?.seq ?? 0]))
    }
    const follow = async (follower: string) => {
      const child = await startProcess(place, { do: 'follow', follower, after: lastSeen(follower) })
      child.begin()
      return child
    }
    const running = await startProcess(place, { do: 'turns', conversations: ids, rounds: 9, stepMs: 1 })
    const following = await Promise.all(names.map(follow))
    running.begin()
    await running.steps(between(rig, 40, 120))
    await following[0]?.kill()
    following[0] = await follow(names[0] ?? '')
    await running.kill()
    const recovery = await recoverAll(place)
    const states = await readStates(place, ids)
    const isComplete = () =>
      names.every((name) => Object.entries(lastSeen(name)).every(([id, seq]) => seq === states.get(id)?.journal.at(-1)?.seq))
    for (const begun = performance.now(); performance.now() - begun < WAIT_FOR_FOLLOWERS_MS && !isComplete(); ) await sleep(200)
    await Promise.all(following.map((child) => child.kill()))
    const notes = readNotes(place.records)
    const violations = [
      ...recovery,
      ...names.flatMap((name) => checkFollower(name, notes, states)),
      ...(await withStore(place, (store) => checkResumedReads(store, states))),
      ...checkStored(notes, states),
    ]
    return { faults: 2, checks: notesOf(notes, 'seen').length, violations }
  },
}

/**
 * Checks that a reader that starts after any entry gets the next entry. The followers of the scenario start after only a few different
 * entries.
 */
async function checkResumedReads(store: ConversationStore, states: States): Promise<readonly Violation[]> {
  const violations: Violation[] = []
  for (const [id, { journal }] of states) {
    for (const { seq } of journal.slice(0, -1)) {
      const next: number[] = []
      for await (const entry of store.readJournal(id, { after: seq, limit: 1 })) next.push(entry.seq)
      if (next[0] === seq + 1) continue
      const kind = next[0] === undefined || next[0] > seq ? 'lost' : 'doubled'
      violations.push(
        violation(kind, `a reader that continues after entry ${seq} of ${id} gets ${next[0] ? `entry ${next[0]}` : 'no entry'}`),
      )
    }
  }
  return violations
}

/** Checks that a follower received each entry of the journal once and in order. */
function checkFollower(name: string, notes: readonly TortureNote[], states: States): readonly Violation[] {
  const seen = notesOf(notes, 'seen').filter(({ follower }) => follower === name)
  return [...states].flatMap(([id, { journal }]) => {
    const own = seen.filter(({ conversationId }) => conversationId === id)
    const seqs = own.map(({ seq }) => seq)
    const hashes = new Map(own.map(({ seq, hash }) => [seq, hash]))
    const missed = journal.filter(({ seq }) => !hashes.has(seq))
    const other = journal.filter(({ seq, change }) => hashes.has(seq) && hashes.get(seq) !== hashOf(change))
    const isOrdered = seqs.every((seq, index) => index === 0 || seq > (seqs[index - 1] ?? 0))
    return [
      ...missed.map(({ seq }) => violation('lost', `${name} did not get entry ${seq} of ${id}`)),
      ...other.map(({ seq }) => violation('different', `${name} got an entry ${seq} of ${id} that differs from the journal`)),
      ...twice(seqs).map((seq) => violation('doubled', `${name} got entry ${seq} of ${id} twice`)),
      ...(isOrdered ? [] : [violation('disordered', `${name} got entries of ${id} in the wrong order`)]),
    ]
  })
}

export const messageScenarios: readonly Scenario[] = [messages, followers]
