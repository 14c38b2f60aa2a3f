import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSqliteStore } from '../../src/adapters/store/sqlite/store.ts'
import { attachmentBlocks, type Draft, internalNoteBlock } from '../../src/core/block/index.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { blockOrigin, call, completion, minute, prompt } from '../../src/testing/blocks.ts'
import { appended, closed, compacted, opened, owner } from '../../src/testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../src/testing/conformance/store/memory.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { openTestStore, runsOf } from '../support/stores.ts'
import { isPostgres } from './places.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-same-hits-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const vocabulary = ['river', 'rivers', 'stone', 'Kyoto', 'parseUserName', 'invoice', 'I', 'my', 'children', 'the', 'went', '東京', 'Ann:']
const text = fc.array(fc.constantFrom(...vocabulary), { minLength: 1, maxLength: 8 }).map((words) => words.join(' '))
const long = text.map((each) => `${each} ${'and nothing else was said about it. '.repeat(120)}${each}`)
const question = fc.oneof(text, fc.constantFrom('what did you say about the river?', 'any ideas for my children?', 'Kyoto last week', ''))
const conversations = ['acme/web/ann/c1', 'acme/web/ann/c2', 'acme/web/bob/c1', 'acme/web/ann/c1~call_0123456789ab', 'c1'] as const
const conversation = fc.constantFrom(...conversations)

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      conversation,
      asked: fc.oneof({ weight: 5, arbitrary: text }, { weight: 1, arbitrary: long }),
      answered: text,
      also: fc.constantFrom('nothing', 'note', 'file', 'search', 'work', 'summary'),
      days: fc.nat(60),
      isOpen: fc.boolean(),
    }),
  },
  fc.record({ kind: fc.constant('delete' as const), conversation }),
  fc.record({ kind: fc.constant('copy' as const), conversation }),
  fc.record({ kind: fc.constant('retain' as const), days: fc.nat(60) }),
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('search' as const),
      conversation,
      question,
      byUser: fc.boolean(),
      withVector: fc.boolean(),
      withLookups: fc.boolean(),
      days: fc.option(fc.nat(60), { nil: undefined }),
      perConversation: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
      limit: fc.integer({ min: 1, max: 12 }),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const DAY = 24 * 60
const others = (also: string, turnId: string, at: number): readonly Draft[] => {
  if (also === 'note') return [internalNoteBlock(blockOrigin('a1', turnId), `fi:${turnId}.files/n.md`, '[P] prefers stones')]
  if (also === 'file')
    return attachmentBlocks(turnId, minute(at), { name: 'river.csv', mime: 'text/csv', size_bytes: 3, summary: 'invoice' })
  if (also === 'search') return [call('a1', 'react.memsearch', turnId)]
  if (also === 'work') return [call('a1', 'react.memsearch', turnId), call('a2', 'exec_tools.execute_code_python', turnId)]
  return []
}

/** Runs the steps on a store, and returns what all searches have found. */
async function run(store: ConversationStore, steps: readonly Step[]): Promise<readonly unknown[]> {
  const memory = memoryOf(store)
  const found: unknown[] = []
  const index = (id: string) => memory.search('x', inConversation(id))
  const { vectors } = memory
  const model = await vectors.choose({ name: 'test', dimensions: 3 })
  const vectorOf = (words: string) =>
    Float32Array.of(words.length % 5, words.split('r').length, 1).map((each, _, all) => each / Math.hypot(...all))

  for (const [n, each] of steps.entries()) {
    if (each.kind === 'turn') {
      const [turnId, at] = [`t${n}`, each.days * DAY + n]
      const claim = await store.claim(each.conversation, owner('a'), { takeOver: 'always' })
      const blocks = (await store.loadVisible(each.conversation))?.timeline.nextBlock ?? 1
      const asked = [prompt(each.asked, turnId, at), ...others(each.also, turnId, at)]
      const changes: Change[] = [
        opened(turnId, at),
        appended(asked, blocks),
        appended([completion(each.answered, turnId, at)], blocks + asked.length),
        ...(each.also === 'summary' ? [compacted(`b_${blocks + asked.length}`, blocks + asked.length + 1, turnId, at)] : []),
        ...(each.isOpen ? [] : [closed(turnId, at)]),
      ]
      await store.append(claim, changes.slice(0, 2))
      if (n % 2 === 0) await index(each.conversation) // in a running turn
      for (const change of changes.slice(2)) await store.append(claim, [change])
      await store.release(claim)
      await index(each.conversation) // in both stores, the snippets then have the same order
    } else if (each.kind === 'delete') await store.delete(each.conversation)
    else if (each.kind === 'copy') {
      if (!(await store.head(each.conversation)) || (await store.head('acme/web/ann/copy'))) continue
      await store.importBundle(await store.exportBundle(each.conversation), { as: 'acme/web/ann/copy' })
      await index('acme/web/ann/copy')
    } else if (each.kind === 'retain') {
      // the store in memory indexes the conversation again, and then numbers only the turns that are left
      if (isPostgres) await store.retain({ historyBefore: minute(each.days * DAY) })
    } else {
      if (each.withVector) {
        const missing = (await vectors.missing(model, 1_000)) ?? []
        await vectors.save(
          model,
          missing.map((snippet) => ({ owner: snippet.owner, number: snippet.number, vector: vectorOf(snippet.text) })),
        )
      }
      const [tenant = '', project = '', user = ''] = each.conversation.split('/')
      const filter = inConversation(each.conversation, {
        now: minute(60 * DAY),
        limit: each.limit,
        withLookups: each.withLookups,
        ...(each.byUser && user !== '' && { within: { user: { tenant, project, user } } }),
        ...(each.days !== undefined && { from: minute(each.days * DAY) }),
        ...(each.perConversation !== undefined && { perConversation: each.perConversation }),
        ...(each.withVector && { vector: { model, values: vectorOf(each.question) } }),
      })
      found.push(await memory.search(each.question, filter))
      found.push(await memory.list({ ...filter, order: n % 2 === 0 ? 'oldest' : 'newest' }))
      found.push(await memory.list({ ...filter, ordinal: (n % 4) + 1 }))
    }
  }
  return found
}

it('every store finds the same texts in the same order as SQLite', { timeout: 300_000 }, async () => {
  let files = 0
  let hits = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), async (steps) => {
      const sqlite = await createSqliteStore({
        file: join(folder, `${++files}.db`),
        blobs: createFileBlobs({ folder: join(folder, `blobs-${files}`) }),
        clock: createFixedClock(),
      })
      const other = await openTestStore({ clock: createFixedClock() })
      const expected = await run(sqlite, steps)
      expect(await run(other, steps)).toEqual(expected)
      hits += expected.flat().length
      await sqlite.close()
      await other.close()
    }),
    { numRuns: runsOf(100) },
  )
  expect(hits).toBeGreaterThan(runsOf(100))
})
