import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { effectiveSettings, environmentLayer } from '../../src/config/config.ts'
import { localScope } from '../../src/core/scope.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { call, completion, minute, prompt, result } from '../../src/testing/blocks.ts'
import {
  accepted,
  appended,
  closed,
  compacted,
  journalOf,
  opened,
  owner,
  visibleTimeline,
  waitingTurn,
} from '../../src/testing/conformance/store/fixture.ts'
import { listTree } from '../../src/wiring/move/tree.ts'
import { openAgent } from '../../src/wiring/open-agent.ts'
import { openStorage } from '../../src/wiring/storage.ts'
import { openStore } from '../../src/wiring/store.ts'

/** Where an installation is. */
export interface TestPlace {
  readonly data: string
  readonly databaseUrl?: string | undefined
}

export const settingsOf = ({ data, databaseUrl }: TestPlace) =>
  effectiveSettings([
    environmentLayer({
      DAYBOOK_DATA: data,
      DAYBOOK_SANDBOX: 'off',
      ...(databaseUrl !== undefined && { DAYBOOK_DATABASE_URL: databaseUrl }),
    }),
  ]).settings

const large = (n: number) => `a long text ${n} `.repeat(2_000)
const longEvent = `event-${'x'.repeat(9_000)}`

/** Fills a place with conversations of every kind: an answered message with a file, open and waiting turns, offers, gaps, an unfinished deletion. */
export async function fillInstallation(place: TestPlace, { conversations = 4 } = {}): Promise<void> {
  const { agent, close } = await openAgent(settingsOf(place))
  const file = { name: 'sales.csv', mime: 'text/csv', content: Buffer.from('month,sales\nJan,10\nFeb,20\n') }
  await agent.run('asked', 'What is the sum of the sales?', { attachments: [file] }).result
  await close()
  const store = await openStore(place)
  try {
    for (let n = 0; n < conversations; n++) await fillConversation(store, `tenant-${n % 3}/p/u/c${n}`, n)
    await fillRest(store)
  } finally {
    await store.close()
  }
  const folder = join(place.data, 'workspaces', 'kept', 'files')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  symlinkSync('run.sh', join(folder, 'link'))
}

async function fillConversation(store: ConversationStore, id: string, n: number): Promise<void> {
  const claim = await store.claim(id, owner('writer'))
  await store.append(claim, [opened('t1', 1), { type: 'title.set', ts: minute(1), title: `Title ${n} \u0000 日本` }])
  for (let round = 0; round < 60; round++) {
    const at = 2 * round + 1
    await store.append(claim, [
      appended([call(`c${round}`, 'web_tools.web_search', 't1', round)], at),
      appended([result(`c${round}`, round === 7 ? large(n) : `result ${round}`, 't1', round)], at + 1),
    ])
  }
  const row = { sid: 1, url: `https://example.org/${n}`, title: 'A page', text: 'its text' }
  await store.append(claim, [{ type: 'sources.merged', ts: minute(90), rows: [row], next_sid: 2 }])
  await store.append(claim, [compacted('b_100', 121, 't1', 95)])
  await store.append(claim, [appended([completion(`answer ${n}`, 't1', 99)], 122), closed('t1', 100)])
  await store.release(claim)
}

async function fillRest(store: ConversationStore): Promise<void> {
  const event = (id: string) => ({ event_id: id, kind: 'followup' as const, ts: minute(3), text: `said as ${id}` })
  const waits = [{ wait_id: 'w1', kind: 'approval' as const, call_id: 'c1', question: 'May it?', expires_at: minute(900) }]
  const waiting = await store.claim('waiting', owner('writer'))
  await store.append(waiting, [opened('t1', 1), appended([prompt('go', 't1', 1)]), waitingTurn('t1', 2, waits)])
  await store.release(waiting)
  const offered = await store.claim('offered', owner('writer'))
  await store.append(offered, [opened('t1', 1), appended([prompt('go', 't1', 1)])])
  for (const id of ['e1', 'e2', longEvent]) await store.offer('offered', event(id))
  await store.append(offered, [accepted('e1', 4)], { takes: [{ eventId: 'e1', outcome: 'accepted' }] })
  await store.release(offered)
  const scheduled = { kind: 'followup' as const, text: 'Is it time? \u0000' }
  await store.schedules?.add('offered', { scheduleId: 'weekly', event: scheduled, at: '2099-01-01T00:00:00.000Z', every: 604_800 })
  await store.schedules?.add('offered', { scheduleId: 'past', event: scheduled, at: minute(0) })
  await store.schedules?.fire()
  await store.budgets?.setLimits('tenant/acme', { tokens: 9_000, micros: 5_000_000 })
  await store.budgets?.setLimits('day', {})
  const charged = await store.claim('offered', owner('writer'))
  const request = { slot: 'decision', amount: { tokens: 20, micros: 30 }, budgets: [{ name: 'tenant/acme' }] }
  await store.budgets?.reserve(charged, request)
  const charges = [{ slot: 'decision', names: ['tenant/acme'], amount: { tokens: 12, micros: 7 } }]
  await store.append(charged, [], { budget: { charges, raises: [{ name: 'tenant/acme', amount: { tokens: 5, micros: 0 } }] } })
  await store.budgets?.reserve(charged, request)
  await store.release(charged)
  await store.retain({ historyBefore: minute(20) })
  const doomed = await store.claim('doomed', owner('writer'))
  await store.append(doomed, [opened('t1', 1), appended([prompt(large(99), 't1', 1)]), closed('t1', 2)])
  await store.release(doomed)
  const stopped = new Error('the deletion stops here')
  await store.delete('doomed', { removeFiles: () => Promise.reject(stopped) }).catch((error: unknown) => {
    if (error !== stopped) throw error
  })
}

/** Everything that can be read from an installation through its ports, and its working files. */
export async function readInstallation(place: TestPlace): Promise<Readonly<Record<string, unknown>>> {
  const { store, hosting } = await openStorage(settingsOf(place))
  try {
    const found: Record<string, unknown> = {}
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const page = await store.list({ limit: 50, ...(cursor !== undefined && { cursor }) })
      for (const info of page.conversations) found[info.conversationId] = { info, ...(await readConversation(store, info.conversationId)) }
      cursor = page.next
    }
    const rns = [...JSON.stringify(found).matchAll(/ef:[\w.~%:-]+/g)].map(([rn]) => rn)
    for (const rn of new Set(rns)) {
      const file = await hosting.resolve(rn, localScope)
      found[rn] = file && { ...file, hosted_uri: '', text: Buffer.from(await hosting.read(file)).toString() }
    }
    return { ...found, budgets: await store.budgets?.list(), files: await workingFiles(place.data) }
  } finally {
    await store.close()
  }
}

async function readConversation(store: ConversationStore, id: string) {
  const journal = await journalOf(store, id)
  const all = [...JSON.stringify(journal).matchAll(/"(path|turn_id|call_id)":"([^"]+)"/g)]
  const names = all.filter((_, n) => n % 41 === 0) // only some names, because each of them needs a query
  const lookups: Record<string, unknown> = {}
  for (const [, kind, name = ''] of names) {
    const find = { path: store.findByPath, turn_id: store.findByTurn, call_id: store.findByCall }[kind ?? '']
    lookups[`${kind} ${name}`] ??= await find?.(id, name)
    if (kind === 'turn_id') lookups[`log ${name}`] ??= await store.readTurnLog(id, name)
  }
  const offers = { open: await store.readOffers(id), e1: await store.findOffer(id, 'e1'), long: await store.findOffer(id, longEvent) }
  const schedules = await store.schedules?.list({ conversationId: id })
  return { journal, lookups, offers, schedules, timeline: await visibleTimeline(store, id) }
}

async function workingFiles(data: string): Promise<readonly unknown[]> {
  const found: unknown[] = []
  const folder = join(data, 'workspaces')
  for await (const entry of listTree(folder))
    found.push({ ...entry, ...(entry.kind === 'file' && { text: readFileSync(join(folder, entry.path), 'utf8') }) })
  return found
}
