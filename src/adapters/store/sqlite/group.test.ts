import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { userPromptBlock } from '../../../core/block/index.ts'
import type { Change } from '../../../core/timeline/change.ts'
import { assignIds, emptyTimeline } from '../../../core/timeline/timeline.ts'
import type { Claim, ConversationStore } from '../../../ports/store.ts'
import { journalOf } from '../../../testing/conformance/store/fixture.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { createSystemClock } from '../../clock/system.ts'
import { createWriteGroups } from './group.ts'
import { createSqliteStore } from './store.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function open(): Promise<{ readonly store: ConversationStore; readonly file: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-group-'))
  folders.push(folder)
  const file = join(folder, 'daybook.db')
  return { file, store: await createSqliteStore({ file, blobs: createMemoryBlobs(), clock: createSystemClock() }) }
}

const owner = { id: 'me', host: 'here', pid: process.pid }
const ts = '2026-01-01T00:00:00.000Z'
const ids = Array.from({ length: 100 }, (_, index) => `c${index}`)
const message = (text: string): readonly Change[] => [
  { type: 'turn.opened', turn_id: 'turn_1', ts },
  { type: 'blocks.appended', blocks: assignIds(emptyTimeline(), [userPromptBlock('turn_1', ts, text)]) },
]
const claimAll = (store: ConversationStore) => Promise.all(ids.map((id) => store.claim(id, owner)))
const titled = (title: string): readonly Change[] => [{ type: 'title.set', ts, title }]

/** The number of commits in the write-ahead log. The last frame of a commit has the size of the database in its bytes 4 to 8. */
function commitsIn(file: string): number {
  const log = readFileSync(`${file}-wal`)
  const frameBytes = 24 + log.readUInt32BE(8)
  const salt = log.subarray(16, 24)
  let commits = 0
  for (let at = 32; at + frameBytes <= log.length; at += frameBytes) {
    if (log.subarray(at + 8, at + 16).equals(salt) && log.readUInt32BE(at + 4) > 0) commits++
  }
  return commits
}

describe('writes that arrive together', () => {
  it('share few commits', async () => {
    const { store, file } = await open()
    const claims = await claimAll(store)
    const before = commitsIn(file)
    await Promise.all(claims.map((claim) => store.append(claim, message('Hello.'))))
    await Promise.all(claims.map((claim) => store.release(claim)))
    expect(commitsIn(file) - before).toBeLessThan(25)
    for (const id of ids) expect(await journalOf(store, id)).toHaveLength(2)
    await store.close()
  })

  it('are rejected one by one: a lost claim and an invalid change do not affect the others', async () => {
    const { store } = await open()
    const claims = await claimAll(store)
    await store.claim('c5', { ...owner, id: 'other' }, { takeOver: 'always' })
    await store.append(claims[7] as Claim, message('First.'))
    const results = await Promise.allSettled(claims.map((claim) => store.append(claim, message('Hello.'))))
    const failed = results.flatMap((result, index) => (result.status === 'rejected' ? [[index, result.reason.code]] : []))
    expect(failed).toEqual([
      [5, 'conversation.superseded'],
      [7, 'change.invalid'], // the number of its block is already used
    ])
    for (const [index, id] of ids.entries()) expect(await journalOf(store, id)).toHaveLength(index === 5 ? 0 : 2)
    const again = await store.append(claims[7] as Claim, titled('Later'))
    expect(again.map(({ seq }) => seq)).toEqual([3])
    await store.close()
  })

  it('are stored in the order of the calls, also for one conversation', async () => {
    const { store } = await open()
    const claims = await claimAll(store)
    const [claim] = claims as [Claim]
    const appends = ids.flatMap((_, index) => [
      store.append(claim, titled(`Title ${index}`)),
      store.append(claims[index] as Claim, titled(`Other ${index}`)),
    ])
    await Promise.all(appends)
    const titles = (await journalOf(store, 'c0')).map(({ change }) => (change as { title: string }).title)
    expect(titles).toEqual(['Title 0', 'Other 0', ...ids.slice(1).map((_, index) => `Title ${index + 1}`)])
    await store.close()
  })

  it('only one of several claims of a conversation succeeds', async () => {
    const { store } = await open()
    const owners = ids.map((id) => ({ ...owner, id }))
    const results = await Promise.allSettled(owners.map((each) => store.claim('c', each)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', ...ids.slice(1).map(() => 'rejected')])
    await store.close()
  })

  it('leave time for other work of the process between the commits', async () => {
    const { store } = await open()
    const claims = await claimAll(store)
    let turns = 0
    let done = false
    const count = () => {
      turns++
      if (!done) setImmediate(count)
    }
    setImmediate(count)
    await Promise.all(
      claims.map(async (claim) => {
        for (let round = 0; round < 10; round++) await store.append(claim, titled(`Title ${round}`))
      }),
    )
    done = true
    expect(turns).toBeGreaterThan(40)
    await store.close()
  })

  it('are rejected when the store was closed before', async () => {
    const { store } = await open()
    const claims = await claimAll(store)
    await store.close()
    const late = await Promise.allSettled(claims.map((claim) => store.append(claim, titled('Too late'))))
    expect(late.map((result) => result.status === 'rejected' && result.reason.code)).toEqual(ids.map(() => 'store.closed'))
  })
})

/** Groups whose transactions only record which writes they contain. The first write is a transaction that ends when `release` is called. */
function recordedGroups() {
  const groups: string[][] = []
  const held = Promise.withResolvers<void>()
  const write = createWriteGroups({
    async transaction(work) {
      groups.push([])
      const result = work()
      if (groups.length === 1) await held.promise
      return result
    },
    nested: (work) => work(),
  })
  const add = (name: string, urgency?: 'first') => write(() => void groups.at(-1)?.push(name), urgency)
  const addAll = (name: string, count: number, urgency?: 'first') =>
    Promise.all(Array.from({ length: count }, (_, index) => add(`${name}${index}`, urgency)))
  return { groups, add, addAll, release: held.resolve }
}

const numbered = (name: string, from: number, to: number) => Array.from({ length: to - from }, (_, index) => `${name}${from + index}`)

describe('urgent writes', () => {
  it('are in the next group, before the writes that were called earlier, and in the order of their calls', async () => {
    const { groups, add, addAll, release } = recordedGroups()
    const alone = add('alone')
    const others = addAll('other', 100)
    const urgent = addAll('urgent', 3, 'first')
    release()
    await Promise.all([alone, others, urgent])
    expect(groups).toEqual([['alone'], [...numbered('urgent', 0, 3), ...numbered('other', 0, 61)], numbered('other', 61, 100)])
  })

  it('leave places for the other writes in every group', async () => {
    const { groups, add, addAll, release } = recordedGroups()
    const alone = add('alone')
    const others = addAll('other', 20)
    const urgent = addAll('urgent', 100, 'first')
    release()
    await Promise.all([alone, others, urgent])
    expect(groups).toEqual([
      ['alone'],
      [...numbered('urgent', 0, 48), ...numbered('other', 0, 16)],
      [...numbered('urgent', 48, 100), ...numbered('other', 16, 20)],
    ])
  })

  it('are messages and offers: their senders wait for them, while turns that run can wait', async () => {
    const { store } = await open()
    const claims = await claimAll(store)
    const settled: string[] = []
    const note = (name: string) => () => void settled.push(name)
    const accepted: Change = { type: 'event.accepted', event: { event_id: 'e1', sequence: 1, kind: 'followup', ts, text: 'Hello.' } }
    await Promise.all([
      ...claims.slice(2).map((claim) => store.append(claim, titled('Later')).then(note('turn'))),
      store.append(claims[0] as Claim, message('Hello.')).then(note('message')),
      store.append(claims[1] as Claim, [accepted]).then(note('event')),
      store.offer('c2', { event_id: 'e2', kind: 'followup', ts, text: 'Hello.' }).then(note('offer')),
    ])
    const places = ['message', 'event', 'offer'].map((name) => settled.indexOf(name))
    expect(Math.max(...places)).toBeLessThan(50) // if writes ran only in the order of the calls, these would be the last three
    expect(settled).toHaveLength(101)
    await store.close()
  })
})
