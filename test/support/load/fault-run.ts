import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConversationRecord, createConversationRecord, type MessageReads } from './conversation-record.ts'
import { createLoadClient, type LoadClient } from './load-client.ts'
import { messageText } from './load-model.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

/** How a server is loaded and killed. */
export interface FaultRun {
  readonly conversations: number
  readonly seconds: number
  /** The time between two kills. Each time, one of the servers is killed and started again. If this is not set, no server is killed. */
  readonly killEveryMs?: number
  /** The number of server processes on the same folder. Each conversation has a follower at every server. */
  readonly servers: 1 | 2
  /** If this is set, the servers use this PostgreSQL database. Restarts of the database alternate with kills of servers. */
  readonly database?: { readonly url: string; restart(): Promise<void> }
}

/** What the clients have seen. All numbers except the first four must be 0. */
export interface FaultReport {
  readonly kills: number
  readonly accepted: number
  readonly refused: number
  readonly entries: number
  /** Accepted messages that no closed turn has read. */
  readonly lost: number
  /** Messages that were read or answered more than once. */
  readonly doubled: number
  /** Messages for which the tool ran more than once. */
  readonly repeatedEffects: number
  /** Answered messages for which the tool did not run, although its call did not end with an unknown outcome. */
  readonly missingEffects: number
  readonly missedEntries: number
  readonly doubledEntries: number
  readonly errors: readonly string[]
}

const SETTLE_MS = 90_000

/**
 * Runs conversations against servers that are killed repeatedly. Each conversation sends a message, waits for the answer and sends the next
 * message. The checks use only what the clients have seen, and the file to which the tool writes.
 */
export async function runWithFaults({ conversations, seconds, killEveryMs, servers: count, database }: FaultRun): Promise<FaultReport> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-fault-run-'))
  const errors: string[] = []
  const servers = await Promise.all(Array.from({ length: count }, () => startServerProcess(folder, { database: database?.url })))
  const clients = servers.map(({ url }) => createLoadClient({ url: () => url, onError: (what) => errors.push(what), survivesLoss: true }))
  const ids = Array.from({ length: conversations }, (_, index) => `c${index}`)
  const end = performance.now() + seconds * 1000
  const sent: SentMessage[] = []
  let refused = 0
  let kills = 0
  try {
    const records = new Map<string, readonly ConversationRecord[]>()
    const talk = async (id: string, index: number) => {
      const client = clients[index % clients.length] as LoadClient
      await client.create(id)
      const followers = clients.map((each) => follow(each, id))
      records.set(id, followers)
      for (let number = 0; number === 0 || performance.now() < end; number++) {
        const messageId = `${id}-${number}`
        refused += (await client.send(id, messageId, messageText(messageId))).refusals
        sent.push({ conversationId: id, messageId })
        await followers[index % followers.length]?.untilAnswered(messageId)
      }
    }
    const killing =
      killEveryMs === undefined
        ? Promise.resolve()
        : killUntil(end, killEveryMs, [...servers, ...(database ? [database] : [])], () => kills++)
    const talking = Promise.all(ids.map(talk)).then(() => true)
    const late = sleep(seconds * 1000 + SETTLE_MS, false, { ref: false })
    if (!(await Promise.race([talking, late]))) errors.push(`after ${SETTLE_MS / 1000} more seconds, some messages are not answered`)
    await killing
    await untilFollowersAgree(records)
    return { kills, refused, errors, ...inspect(sent, records, effectsIn(folder)) }
  } finally {
    for (const client of clients) client.close()
    for (const server of servers) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface SentMessage {
  readonly conversationId: string
  readonly messageId: string
}

function follow(client: LoadClient, conversationId: string): ConversationRecord {
  const record = createConversationRecord()
  client.follow(conversationId, { onEvent: record.read })
  return record
}

async function killUntil(
  end: number,
  everyMs: number,
  servers: readonly Pick<ServerProcess, 'restart'>[],
  onKill: () => void,
): Promise<void> {
  let at = performance.now() + everyMs
  for (let number = 0; at < end; number++, at += everyMs) {
    await sleep(Math.max(0, at - performance.now()))
    onKill()
    await servers[number % servers.length]?.restart()
  }
}

/** Waits until all followers of each conversation have the same last entry, at most some seconds. */
async function untilFollowersAgree(records: ReadonlyMap<string, readonly ConversationRecord[]>): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const agree = [...records.values()].every((followers) => new Set(followers.map(({ lastSeq }) => lastSeq)).size === 1)
    await sleep(100)
    if (agree) return
  }
}

const notRead: MessageReads = { reads: 0, closed: 0, answers: 0, isOutcomeUnknown: false }

function inspect(
  sent: readonly SentMessage[],
  records: ReadonlyMap<string, readonly ConversationRecord[]>,
  effects: ReadonlyMap<string, number>,
) {
  const followers = [...records.values()].flat()
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const ends = sent.map(({ conversationId, messageId }) => {
    const [first] = records.get(conversationId) ?? []
    return { messageId, ...(first?.readsOf(messageId) ?? notRead) }
  })
  // if a follower has fewer entries than another follower of the conversation, it has missed some
  const behind = [...records.values()].map((each) => {
    const last = Math.max(...each.map(({ lastSeq }) => lastSeq))
    return sum(each.map(({ lastSeq }) => last - lastSeq))
  })
  return {
    accepted: sent.length,
    entries: sum(followers.map(({ lastSeq }) => lastSeq)),
    lost: ends.filter(({ closed, answers }) => closed === 0 || answers === 0).length,
    doubled: ends.filter(({ reads, closed, answers }) => reads > 1 || closed > 1 || answers > 1).length,
    repeatedEffects: [...effects.values()].filter((times) => times > 1).length,
    missingEffects: ends.filter(({ messageId, isOutcomeUnknown }) => !isOutcomeUnknown && !effects.has(messageId)).length,
    missedEntries: sum(followers.map(({ missed }) => missed)) + sum(behind),
    doubledEntries: sum(followers.map(({ doubled }) => doubled)),
  }
}

/** How often the tool ran for each message. */
function effectsIn(folder: string): ReadonlyMap<string, number> {
  const file = join(folder, 'effects')
  const counts = new Map<string, number>()
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  for (const line of lines) {
    const [, id = ''] = line.split(' ')
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}
