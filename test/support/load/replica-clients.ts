import { setTimeout as sleep } from 'node:timers/promises'
import { createLoadClient } from './load-client.ts'
import { idToApprove, messageText } from './load-model.ts'
import { createReplicaRecord, type ReplicaRecord } from './replica-record.ts'

/** The clients of many conversations, each with followers that connect to a random replica at every new connection. */
export interface ReplicaClients {
  /** Sends no more messages. */
  end(): void
  /** Resolves with true when every message is answered and all followers of each conversation have the same entries. */
  settled(withinMs: number): Promise<boolean>
  report(): ClientReport
  /** For each step of the model in any conversation, the time of its stored response. */
  steps(): ReadonlyMap<string, string>
  readonly errors: readonly string[]
  close(): void
}

/** What the clients have seen. The values after `unknownOutcomes` must be 0. */
export interface ClientReport {
  readonly messages: number
  readonly steers: number
  readonly decisions: number
  readonly entries: number
  readonly received: number
  readonly liveEvents: number
  readonly unknownOutcomes: number
  readonly unanswered: number
  readonly missedEntries: number
  readonly doubledEntries: number
  readonly differentJournals: number
  readonly repeatedEvents: number
  readonly repeatedResponses: number
  readonly lateEntries: number
}

const FOLLOWERS = 2

interface ClientOptions {
  readonly conversations: number
  /** The pause between two messages of a conversation, on average. */
  readonly pauseMs: number
  /** The address for the next request. */
  url(): string
}

/** Starts the clients. They send messages, steers, stops and decisions until `end` is called. */
export async function startReplicaClients({ conversations, pauseMs, url }: ClientOptions): Promise<ReplicaClients> {
  const errors: string[] = []
  const client = createLoadClient({ url, onError: (what) => errors.push(what), survivesLoss: true })
  const ids = Array.from({ length: conversations }, (_, index) => `c${index}`)
  for (const id of ids) await client.create(id)
  const messages: { readonly id: string; readonly eventId: string }[] = []
  let steers = 0
  let isOver = false

  const decide = async (id: string, callId: string) => {
    await sleep(Math.random() * 300)
    await client.decide(id, callId, Math.random() < 0.7)
  }
  const records = new Map<string, readonly ReplicaRecord[]>()
  for (const id of ids) {
    const followers = Array.from({ length: FOLLOWERS }, () => createReplicaRecord((callId) => void decide(id, callId)))
    for (const follower of followers) client.follow(id, { onEvent: follower.read })
    records.set(id, followers)
  }
  const talk = async (id: string) => {
    for (let number = 0; !isOver; number++) {
      const eventId = `${id}-${number}`
      const kind = Math.random()
      if (kind < 0.75) {
        await client.send(id, eventId, messageText(kind < 0.15 ? idToApprove(eventId) : eventId))
        messages.push({ id, eventId })
      } else {
        await client.steer(id, eventId, kind < 0.95 ? messageText(eventId) : '')
        steers++
      }
      await sleep(Math.random() * 2 * pauseMs)
    }
  }
  const talking = Promise.all(ids.map(talk))
  talking.catch(() => {}) // if the run fails, the clients are closed while they still send, and this promise rejects

  const sum = (value: (record: ReplicaRecord) => number) => [...records.values()].flat().reduce((total, each) => total + value(each), 0)
  const firsts = () => [...records.values()].flatMap(([first]) => first ?? [])
  /** The sum of a value over all conversations. The value is taken from the first follower of each conversation. */
  const sumOfJournals = (value: (record: ReplicaRecord) => number) => firsts().reduce((total, first) => total + value(first), 0)
  const unanswered = () => messages.filter(({ id, eventId }) => !records.get(id)?.every((record) => record.isAnswered(eventId)))
  const behind = () =>
    [...records.values()].reduce((total, each) => {
      const last = Math.max(...each.map(({ lastSeq }) => lastSeq))
      return total + each.reduce((missing, { lastSeq }) => missing + last - lastSeq, 0)
    }, 0)

  return {
    errors,
    end() {
      isOver = true
    },
    async settled(withinMs) {
      const deadline = performance.now() + withinMs
      await Promise.race([talking, sleep(withinMs, undefined, { ref: false })])
      while (performance.now() < deadline) {
        if (unanswered().length === 0 && behind() === 0) return true
        await sleep(200)
      }
      return false
    },
    report: () => ({
      messages: messages.length,
      steers,
      decisions: sumOfJournals(({ decisions }) => decisions),
      entries: sumOfJournals(({ lastSeq }) => lastSeq),
      received: sum(({ lastSeq }) => lastSeq),
      liveEvents: sum(({ live }) => live),
      unknownOutcomes: sumOfJournals(({ unknownOutcomes }) => unknownOutcomes),
      unanswered: unanswered().length,
      missedEntries: sum(({ missed }) => missed) + behind(),
      doubledEntries: sum(({ doubled }) => doubled),
      differentJournals: [...records.values()].filter((each) => new Set(each.map((record) => record.digest())).size > 1).length,
      repeatedEvents: sumOfJournals((record) => record.repeatedEvents()),
      repeatedResponses: sumOfJournals((record) => record.repeatedResponses()),
      lateEntries: sumOfJournals((record) => record.staleEntries()),
    }),
    steps: () => new Map(firsts().flatMap(({ steps }) => [...steps])),
    close: () => client.close(),
  }
}
