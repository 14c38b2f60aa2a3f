import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../postgres.ts'
import { createLoadClient, type LoadClient } from './load-client.ts'
import { idToApprove, messageText } from './load-model.ts'
import { type ReplicaProcess, startReplicaProcess } from './replica-process.ts'
import { createReplicaRecord, type ReplicaRecord } from './replica-record.ts'

/** How replicas are loaded, and what is done to them. The faults come one after the other, in random order. */
export interface ReplicaFaults {
  readonly conversations: number
  readonly replicas: number
  /** How many replicas are killed (SIGKILL) and started again. */
  readonly kills: number
  /** How often a replica is frozen (SIGSTOP), and for how long. */
  readonly freezes: number
  readonly freezeMs: number
  /** How often PostgreSQL is ended at once and started again. */
  readonly databaseRestarts: number
  /** The pause between two faults. */
  readonly everyMs: number
  /** The pause between two messages of a conversation. */
  readonly pauseMs: number
}

/** What the clients have seen. The values after `decisions` must be 0. */
export interface ReplicaReport {
  readonly kills: number
  readonly freezes: number
  readonly databaseRestarts: number
  readonly messages: number
  readonly steers: number
  readonly decisions: number
  readonly entries: number
  readonly liveEvents: number
  readonly unanswered: number
  readonly missedEntries: number
  readonly doubledEntries: number
  readonly repeatedEvents: number
  readonly repeatedEffects: number
  readonly answersPaidTwice: number
  readonly staleEntries: number
  readonly errors: readonly string[]
}

const SETTLE_MS = 180_000
const FOLLOWERS = 2
const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T

/**
 * Runs conversations on several replicas with one database. Messages, steers, stops and decisions go to random replicas, and so do the
 * followers, at every new connection. Meanwhile replicas are killed and frozen, and the database is restarted.
 */
export async function runReplicaFaults(run: ReplicaFaults): Promise<ReplicaReport> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-replicas-'))
  const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const postgres = await startPostgres({ durable: true })
    closers.push(() => postgres.stop())
    const replicas: ReplicaProcess[] = []
    for (let number = 0; number < run.replicas; number++) {
      const replica = await startReplicaProcess(folder, postgres.url, 30)
      replicas.push(replica)
      closers.push(() => replica.stop())
    }
    const url = () => pick(replicas).url
    const errors: string[] = []
    const client = createLoadClient({ url, onError: (what) => errors.push(what), survivesLoss: true })
    closers.push(() => client.close())
    const talks = await startTalks(run, client, url, errors)
    const faults = await injectFaults(run, replicas, () => postgres.restart())
    talks.end()
    const isSettled = await talks.settled()
    if (!isSettled) errors.push(`after ${SETTLE_MS / 1000} seconds without faults, some messages are not answered`)
    return { ...faults, ...talks.report(), repeatedEffects: repeatedEffectsIn(folder), errors: [...new Set(errors)] }
  } finally {
    for (const close of closers.reverse()) await close()
  }
}

/** Injects all faults in random order. */
async function injectFaults(
  { kills, freezes, freezeMs, databaseRestarts, everyMs }: ReplicaFaults,
  replicas: readonly ReplicaProcess[],
  restart: () => Promise<void>,
) {
  const faults = [
    ...Array.from({ length: kills }, () => () => pick(replicas).restart()),
    ...Array.from({ length: freezes }, () => async () => {
      const frozen = pick(replicas)
      frozen.signal('SIGSTOP')
      await sleep(freezeMs)
      frozen.signal('SIGCONT')
    }),
    ...Array.from({ length: databaseRestarts }, () => restart),
  ]
  for (const fault of faults.toSorted(() => Math.random() - 0.5)) {
    await sleep(everyMs * (0.5 + Math.random()))
    await fault()
  }
  await sleep(everyMs)
  return { kills, freezes, databaseRestarts }
}

/** Starts the clients of all conversations. */
async function startTalks({ conversations, pauseMs }: ReplicaFaults, client: LoadClient, url: () => string, errors: string[]) {
  const ids = Array.from({ length: conversations }, (_, index) => `c${index}`)
  for (const id of ids) await client.create(id)
  const records = new Map<string, readonly ReplicaRecord[]>()
  const messages: { readonly id: string; readonly eventId: string }[] = []
  let steers = 0
  let isOver = false
  for (const id of ids) {
    const decide = async (callId: string) => {
      await sleep(Math.random() * 300)
      const { status, text } = await postDecision(url, id, callId, Math.random() < 0.7)
      if (![202, 404, 409].includes(status)) errors.push(`decision: ${status} ${text}`)
    }
    const followers = Array.from({ length: FOLLOWERS }, () => createReplicaRecord((callId) => void decide(callId)))
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
  const followers = () => [...records.values()].flat()
  const sum = (value: (record: ReplicaRecord) => number) => followers().reduce((total, record) => total + value(record), 0)
  /** The journal that the first follower of each conversation has seen. */
  const sumOfJournals = (value: (record: ReplicaRecord) => number) =>
    [...records.values()].reduce((total, [first]) => total + (first ? value(first) : 0), 0)
  const unanswered = () => messages.filter(({ id, eventId }) => !records.get(id)?.every((record) => record.isAnswered(eventId)))
  const behind = () =>
    [...records.values()].reduce((total, each) => {
      const last = Math.max(...each.map(({ lastSeq }) => lastSeq))
      return total + each.reduce((missing, { lastSeq }) => missing + last - lastSeq, 0)
    }, 0)
  return {
    end() {
      isOver = true
    },
    /** Resolves with true when every message is answered and all followers of each conversation have the same entries. */
    async settled(): Promise<boolean> {
      const deadline = performance.now() + SETTLE_MS
      await Promise.race([talking, sleep(SETTLE_MS, undefined, { ref: false })])
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
      entries: sum(({ lastSeq }) => lastSeq),
      liveEvents: sum(({ live }) => live),
      unanswered: unanswered().length,
      missedEntries: sum(({ missed }) => missed) + behind(),
      doubledEntries: sum(({ doubled }) => doubled),
      repeatedEvents: sumOfJournals((record) => record.repeatedEvents()),
      answersPaidTwice: sumOfJournals((record) => record.answersPaidTwice()),
      staleEntries: sumOfJournals((record) => record.staleEntries()),
    }),
  }
}

/** Sends a decision about a call. If the replica was killed or is busy, sends it again. */
async function postDecision(url: () => string, id: string, callId: string, approved: boolean) {
  for (;;) {
    try {
      const response = await fetch(`${url()}/v1/conversations/${id}/calls/${callId}/decision`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ approved }),
      })
      const answer = { status: response.status, text: await response.text() }
      if (answer.status !== 503) return answer
    } catch {} // the replica was killed
    await sleep(200)
  }
}

/** How many effects of the tool happened again. Each line of the file begins with the idempotency key of the call. */
function repeatedEffectsIn(folder: string): number {
  const file = join(folder, 'effects')
  const keys = existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split(' ')[0])
    : []
  return keys.length - new Set(keys).size
}
