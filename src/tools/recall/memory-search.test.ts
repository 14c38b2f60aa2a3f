import { expect, it } from 'vitest'
import { sliceOf } from '../../../test/support/prompts/shown-blocks.ts'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { attachmentBlocks, internalNoteBlock, rangeSummaryBlock, userEventBlock } from '../../core/block/index.ts'
import type { Change } from '../../core/timeline/change.ts'
import { emptyTimeline } from '../../core/timeline/timeline.ts'
import { blockOrigin, call, completion, minute, prompt } from '../../testing/blocks.ts'
import { appended, compacted, opened, writeConversation } from '../../testing/conformance/store/fixture.ts'
import { createMemsearchTool, type MemoryHit } from '../react/memsearch.ts'
import { createReadTool } from '../react/read.ts'
import { createMemorySearch } from './memory-search.ts'

type Fixture = Awaited<ReturnType<typeof toolFixture>>

/** Runs `react.memsearch` in the conversation of the fixture. */
async function search({ store, run }: Fixture, params: object) {
  if (!store.memory) throw new TypeError('the store has no memory index')
  const outcome = await run(createMemsearchTool(createMemorySearch(store.memory, { now: () => minute(100) })), params)
  return { outcome, hits: outcome.ok ? (outcome.output as unknown as { hits: readonly MemoryHit[] }).hits : [] }
}

const topics = (count: number) => Array.from({ length: count }, (_, n) => prompt(`lantern number ${n}`, `old${n}`, n))

it('timeline 11.103: finds five turns in one conversation, and two per conversation when all conversations of a user are searched', async () => {
  const fixture = await toolFixture(topics(5), { turnId: 'now' })
  await writeConversation(fixture.store, 'c2', [appended(topics(5))])
  expect((await search(fixture, { query: 'lanterns' })).hits.length).toBe(5)
  const { hits } = await search(fixture, { query: 'lanterns', scope: 'user' })
  expect(hits.map(({ path }) => path.startsWith('ar:conv_c2.')).sort()).toEqual([false, false, true, true])
})

it('timeline 11.104: opens a turn by its number; a search without a criterion is an error of the call', async () => {
  const fixture = await toolFixture(topics(3), { turnId: 'now' })
  expect((await search(fixture, { ordinal: 2 })).hits.map(({ path }) => path)).toEqual(['ar:old1.user.prompt'])
  expect((await search(fixture, {})).outcome).toMatchObject({ ok: false, error: { code: 'missing_query' } })
})

it('timeline 11.106: the path of a hit in a compacted turn can be read, also from another conversation', async () => {
  const fixture = await toolFixture([prompt('nothing here', 'now')], { turnId: 'now' })
  const elsewhere = [appended([prompt('the lantern is blue', 'old', 1), completion('Noted.', 'old', 1)]), compacted('b_2', 3, 'old', 2)]
  await writeConversation(fixture.store, 'c2', [opened('old'), ...elsewhere])
  const { hits } = await search(fixture, { query: 'lantern', scope: 'user' })
  expect(hits).toMatchObject([{ path: 'ar:conv_c2.old.user.prompt', text: 'the lantern is blue', role: 'user', ts: minute(1) }])
  const read = await fixture.run(createReadTool(), { paths: hits.map(({ path }) => path) })
  expect(JSON.stringify(read)).toContain('the lantern is blue')
  const missing = await fixture.run(createReadTool(), { paths: ['ar:conv_c3.old.user.prompt'] })
  expect(JSON.stringify(missing.output)).toContain('"missing"')
})

it('tools 18.109: of six matching turns, the five best are returned', async () => {
  const fixture = await toolFixture(topics(6), { turnId: 'now' })
  expect((await search(fixture, { query: 'lantern' })).hits.length).toBe(5)
})

it('tools 18.110: finds the exact name of an attached file', async () => {
  const file = { name: 'q3-Forecast_final.csv', mime: 'text/csv', size_bytes: 9 }
  const fixture = await toolFixture([prompt('see the file', 'old'), ...attachmentBlocks('old', minute(1), file)], { turnId: 'now' })
  const { hits } = await search(fixture, { query: 'q3-Forecast_final.csv', targets: ['attachment'] })
  expect(hits).toMatchObject([{ role: 'attachment', path: 'fi:old.user.attachments/q3-Forecast_final.csv' }])
})

it('tools 18.112: does not find a turn that only searched and read, unless asked for', async () => {
  const lookup = [prompt('which lantern?', 'old'), call('a1', 'react.memsearch', 'old'), completion('The blue lantern.', 'old', 1)]
  const fixture = await toolFixture(lookup, { turnId: 'now' })
  expect((await search(fixture, { query: 'lantern' })).hits).toEqual([])
  expect((await search(fixture, { query: 'lantern', include_recovery_sessions: true })).hits.length).toBe(1)
})

it('says that a question has only common words, which are not looked for', async () => {
  const fixture = await toolFixture([prompt('what is it', 'old')], { turnId: 'now' })
  for (const query of ['what is it', '???', '🎂'])
    expect((await search(fixture, { query })).outcome.output).toMatchObject({
      hits: [],
      warnings: ['The query has only common words, which are not looked for. Name a person, a thing or a rare word.'],
    })
  expect((await search(fixture, { query: 'lantern' })).outcome.output).not.toHaveProperty('warnings')
})

it.each([
  [{ to: '+012345-01-01T00:00:00Z' }, 1],
  [{ from: '+012345-01-01T00:00:00Z' }, 0],
  [{ from: '-000001-01-01T00:00:00Z' }, 1],
  [{ from: '2026-01-01T03:00:00+04:00', to: '2026-01-01T06:00:00+05:00' }, 1],
])('accepts any times: %o', async (period, count) => {
  const fixture = await toolFixture([prompt('the lantern', 'old', 1)], { turnId: 'now' })
  expect((await search(fixture, { query: 'lantern', ...period })).hits.length).toBe(count)
  expect((await search(fixture, period)).hits.length).toBe(count)
})

it('leaves out old texts and the turn that searches, and shows the matching part of a long text', async () => {
  const long = `${'Filler without meaning. '.repeat(40)}The lantern hangs in Porto. ${'More filler follows. '.repeat(20)}`
  const old = { ...prompt('lantern of long ago', 'ancient'), ts: '2019-01-01T00:00:00.000Z' }
  const fixture = await toolFixture([old, prompt(long, 'old'), prompt('lantern?', 'now')], { turnId: 'now' })
  const { hits } = await search(fixture, { query: 'lantern' })
  expect(hits).toMatchObject([{ turn_id: 'old', text: expect.stringContaining('The lantern hangs in Porto.') }])
  expect((await search(fixture, { query: 'lantern', days: 3_650 })).hits.length).toBe(2)
})

it('the path of every hit can be read after its block was pruned and compacted, in this conversation and from another', async () => {
  const texts = [
    prompt('lantern of the user', 'old', 1),
    userEventBlock('followup', 'old', minute(1), { messageId: 'm1', text: 'lantern of the followup' }),
    internalNoteBlock({ ...blockOrigin('a1'), turnId: 'old' }, 'fi:old.files/notes.md', '[D] lantern of the note'),
    completion('lantern of the answer', 'old', 1),
    rangeSummaryBlock('old', minute(2), { text: 'lantern of the summary', coveredTurnIds: ['older'] }),
  ]
  const ids = texts.map((_, n) => `b_${n + 1}`)
  const pruned: Change = { type: 'blocks.hidden', ids, replacement_text: 'gone', reason: 'cache_ttl' }
  const fixture = await toolFixture([...texts, prompt('nothing here', 'now', 3)], { turnId: 'now' })
  await fixture.store.append(fixture.claim, [pruned])
  await fixture.store.append(fixture.claim, [compacted('b_5', 20, 'later', 4)])
  await writeConversation(fixture.store, 'c2', [opened('old'), appended(texts)], [pruned], [compacted('b_5', 20, 'later', 4)])
  const timeline = (await fixture.store.loadVisible('c1'))?.timeline ?? emptyTimeline()
  const visiblePrompt = { ...fixture.call.visiblePrompt, slice: () => sliceOf(timeline, 'now') }
  for (const scope of ['conversation', 'user'] as const)
    for (const kind of ['user', 'followup', 'note', 'answer', 'summary']) {
      const targets = ['user', 'assistant', 'summary', 'notes']
      const { hits } = await search(fixture, { query: `lantern ${kind}`, scope, targets, top_k: 50, days: 3_650 })
      const found = hits.filter(({ text }) => text.includes(kind))
      expect(found.length, `${kind} in ${scope}`).toBeGreaterThan(0)
      for (const { path, text } of found) {
        const read = await createReadTool().run({ paths: [path] }, { ...fixture.call, timeline, visiblePrompt })
        expect(JSON.stringify(read), path).toContain(text)
      }
    }
})
