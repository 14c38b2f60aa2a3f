import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHarness } from '../../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { openStore } from '../../wiring/store.ts'
import { searchConversations } from './search-conversations.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-search-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const notes = defineTool({
  id: 'notes.read',
  description: 'Reads notes.',
  params: z.object({}),
  run: () => ({ ok: true, ret: 'internal cucumber' }),
})

describe.each(['memory', 'sqlite'] as const)('search in a store of the kind %s', (kind) => {
  async function open(replies: readonly Reply[]) {
    const data = mkdtempSync(join(root, 's-'))
    const store = await openStore({ data, store: kind })
    const model = scriptedModel(replies, { title: 'A talk' })
    const { agent } = createHarness({ replies, store, model, tools: [notes] })
    const find = async (search: string, more = {}) =>
      (await agent.archive.list({ search, ...more })).conversations.map(({ conversationId }) => conversationId)
    return { agent, store, find, data }
  }

  it('finds titles, messages and answers in any case and any script, also in long texts and old turns', async () => {
    const long = `${'word '.repeat(4_000)} Blåbær`
    const { agent, store, find } = await open([reply.answer('It is a ZUCCHINI.'), reply.answer('Yes.'), reply.answer(long)])
    await agent.run('one', 'What is green?').result
    await agent.run('one', 'Are you sure about the Crème brûlée?').result
    await agent.run('two', 'And blue?').result
    await agent.archive.create('three', 'Zucchini recipes')
    expect((await find('zucchini')).toSorted()).toEqual(['one', 'three'])
    expect(await find('CRE\u0300ME BRU\u0302LE\u0301E')).toEqual(['one'])
    expect(await find('blåbær')).toEqual(['two'])
    expect((await find('a talk')).toSorted()).toEqual(['one', 'two'])
    expect(await find('100%')).toEqual([])
    expect((await find('')).length).toBe(3)
    await store.close()
  })

  it('does not find what users may not see: thinking, tool calls and results', async () => {
    const { agent, store, find } = await open([reply.call('notes.read', {}, { thinking: 'A pumpkin?' }), reply.answer('Done.')])
    await agent.run('one', 'Read.').result
    expect(await find('cucumber')).toEqual([])
    expect(await find('pumpkin')).toEqual([])
    expect(await find('notes.read')).toEqual([])
    await store.close()
  })

  it('a deleted conversation is not found, and its words are not on the disk', async () => {
    const { agent, store, find, data } = await open([reply.answer('Aubergine.'), reply.answer('Aubergine.')])
    await agent.run('one', 'What is violet?').result
    await agent.run('two', 'What is violet?').result
    expect((await find('aubergine')).toSorted()).toEqual(['one', 'two'])
    await agent.archive.delete('one')
    expect(await find('aubergine')).toEqual(['two'])
    await agent.archive.delete('two')
    expect(await find('aubergine')).toEqual([])
    await agent.close()
    await store.close()
    const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    for (const file of files) expect(readFileSync(join(file.parentPath, file.name)).includes('ubergine')).toBe(false)
  })

  it('lets other work of the process run, even if many searches come together', async () => {
    const { agent, store, find } = await open([])
    for (let n = 0; n < 100; n++) await agent.archive.create(`c${n}`, `Title ${n}`)
    let done = false
    let longest = 0
    let turns = 0
    let searches = 0 // the number of searches that have read something since the last turn of the event loop
    const readJournal: typeof store.readJournal = (...values) => {
      searches++
      return store.readJournal(...values)
    }
    const count = () => {
      turns++
      longest = Math.max(longest, searches)
      searches = 0
      if (!done) setImmediate(count)
    }
    setImmediate(count)
    const { agent: observed } = createHarness({ replies: [], store: { ...store, readJournal }, model: scriptedModel([]) })
    const searching = Array.from({ length: 10 }, () => observed.archive.list({ search: 'not there' }))
    expect((await Promise.all(searching)).flatMap(({ conversations }) => conversations)).toEqual([])
    done = true
    expect(turns).toBeGreaterThan(500)
    expect(longest).toBeLessThan(5)
    expect(await find('title 99')).toEqual(['c99'])
    await store.close()
  })

  it('gives its results in pages, each after a limited amount of reading', async () => {
    const { agent, store } = await open(Array.from({ length: 12 }, (_, n) => reply.answer(n % 3 === 0 ? 'Radish.' : 'Leek.')))
    for (let n = 0; n < 12; n++) await agent.run(`c${n}`, 'Which?').result
    const found: string[] = []
    const sizes: number[] = []
    let cursor: string | undefined
    do {
      const page = await searchConversations(store, { search: 'radish', limit: 3, ...(cursor !== undefined && { cursor }) }, 20)
      found.push(...page.conversations.map(({ conversationId }) => conversationId))
      sizes.push(page.conversations.length)
      cursor = page.next
    } while (cursor !== undefined)
    expect(found.toSorted()).toEqual(['c0', 'c3', 'c6', 'c9'])
    expect(sizes.length).toBeGreaterThan(3) // 20 entries are fewer than three conversations have
    await store.close()
  })
})
