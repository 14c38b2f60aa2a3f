import { describe, expect, it } from 'vitest'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { codesOf } from '../../../test/support/watch-turn.ts'
import type { KnowledgeQuery } from '../../ports/knowledge.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { createMemsearchTool, type MemoryHit, type MemoryQuery } from './memsearch.ts'
import { createSearchKnowledgeTool } from './search-knowledge.ts'

const hit = (turn: string, n: number, text = `text ${n}`): MemoryHit => ({
  turn_id: turn,
  ts: '2026-01-01T00:00:00.000Z',
  score: 1 / n,
  role: 'user',
  path: `ar:${turn}.user.prompt`,
  text,
})

function memory(hits: readonly MemoryHit[] = []) {
  const queries: MemoryQuery[] = []
  const tool = createMemsearchTool({
    search: async (query) => {
      queries.push(query)
      return { hits, warnings: hits.length > 3 ? ['a log is gone'] : [] }
    },
  })
  return { queries, tool }
}

describe('react.memsearch', () => {
  it('returns snippets with paths, grouped by turn, and shows no other content', async () => {
    const fixture = await toolFixture([])
    const { tool } = memory([hit('t1', 1), hit('t2', 2, 'y'.repeat(900)), hit('t1', 3), hit('t3', 4), hit('t4', 5), hit('t5', 6)])
    const outcome = await fixture.run(tool, { query: 'doors' })
    expect(outcome.output).toMatchObject({ mode: 'search', warnings: ['a log is gone'], tokens: expect.any(Number) })
    const { hits } = outcome.output as unknown as { hits: MemoryHit[] }
    expect(hits.map(({ turn_id, text }) => [turn_id, text.length])).toEqual([
      ['t1', 6],
      ['t1', 6],
      ['t2', 500],
      ['t3', 6],
      ['t4', 6],
    ])
    expect(outcome).not.toHaveProperty('after')
  })

  it('limits length, number of hits, period and targets of every query', async () => {
    const fixture = await toolFixture([])
    const { tool, queries } = memory()
    await fixture.run(tool, { query: 'q'.repeat(900), top_k: 500, days: 99_999 })
    await fixture.run(tool, { query: ' ', ordinal: 2, top_k: -1, days: 0, targets: ['user', 'user', 'notes'] })
    expect(queries).toMatchObject([
      { query: 'q'.repeat(512), topK: 50, days: 3_650, targets: ['assistant', 'user', 'attachment'], scope: 'conversation' },
      { query: undefined, topK: 1, days: 1, targets: ['user', 'notes'], ordinal: 2 },
    ])
    expect((await fixture.run(tool, { targets: ['summary'] })).output).toMatchObject({ mode: 'overview', hits: [] })
  })

  it.each([
    [{ targets: ['machine'] }, 'bad_targets'],
    [{ targets: [] }, 'bad_targets'],
    [{ from: 'yesterday' }, 'bad_time_window'],
    [{ from: '2026-02-01', to: '2026-01-01' }, 'bad_time_window'],
    [{ query: ' ' }, 'missing_query'],
    [{ ordinal: 0 }, 'bad_ordinal'],
    [{ ordinal: 1, scope: 'user' }, 'bad_ordinal'],
  ])('%j is refused: %s', async (params, code) => {
    const { tool, queries } = memory()
    expect(await (await toolFixture([])).run(tool, { query: 'x', ...params })).toMatchObject({ ok: false, error: { code } })
    expect(queries).toEqual([])
  })

  it('a search that fails is a failed call', async () => {
    const tool = createMemsearchTool({ search: () => Promise.reject(new Error('down')) })
    expect(await (await toolFixture([])).run(tool, { query: 'x' })).toMatchObject({ ok: false, error: { code: 'memsearch_failed' } })
  })
})

describe('react.search_knowledge', () => {
  const queries: KnowledgeQuery[] = []
  const tool = createSearchKnowledgeTool({
    search: async (query) => {
      queries.push(query)
      return [
        { path: 'ks:guide/a.md', title: 'A', score: 2, headings: ['One'] },
        { path: 'ks:other/b.md', title: 'B', score: 1 },
      ]
    },
  })

  it('returns ranked paths below the root', async () => {
    const fixture = await toolFixture([])
    expect((await fixture.run(tool, { query: ' doors ', root: 'ks:guide/', max_hits: 900, keywords: ['red'] })).output).toEqual([
      { path: 'ks:guide/a.md', title: 'A', score: 2, headings: ['One'], sid: 1 },
    ])
    expect(queries.at(-1)).toEqual({ query: 'doors', root: 'ks:guide/', maxHits: 50, keywords: ['red'] })
    expect((await fixture.run(tool, { query: 'doors' })).output).toHaveLength(2)
  })

  it('hits are sources of the conversation, and all sections of a document are one source', async () => {
    const hits = [
      { path: 'ks:guide/a.md#one', title: 'A', score: 2, summary: 'first' },
      { path: 'ks:guide/b.md', title: 'B', score: 1.5, url: 'https://known.example/' },
      { path: 'ks:guide/a.md#two', title: 'A', score: 1, summary: 'second' },
    ]
    const fixture = await toolFixture([], { sources: [{ url: 'https://known.example/' }] })
    const outcome = await fixture.run(createSearchKnowledgeTool({ search: async () => hits }), { query: 'doors' })
    expect(outcome.output).toEqual([2, 1, 2].map((sid, index) => ({ ...hits[index], sid })))
    expect(outcome.sources).toEqual([
      { url: 'ks:guide/a.md', title: 'A', text: 'first', source_type: 'manual' },
      { url: 'https://known.example/', title: 'B', source_type: 'manual' },
      { url: 'ks:guide/a.md', title: 'A', text: 'second', source_type: 'manual' },
    ])
  })

  it('a notice says that documents are still being read', async () => {
    const searching = { search: async () => [], progress: () => ({ done: 3, total: 40 }) }
    const outcome = await (await toolFixture([])).run(createSearchKnowledgeTool(searching), { query: 'doors' })
    expect(outcome.notices).toMatchObject([{ code: 'knowledge_incomplete', message: expect.stringContaining('3 of 40') }])
  })

  it.each([
    [{ query: ' ' }, 'missing_query'],
    [{ query: 'x', root: 'fi:t1.files/' }, 'bad_root'],
    [{ query: 'x', root: 'ks:../up' }, 'bad_root'],
  ])('%j is refused: %s', async (params, code) => {
    expect(await (await toolFixture([])).run(tool, params)).toMatchObject({ ok: false, error: { code } })
  })

  it('a search that fails is a failed call', async () => {
    const broken = createSearchKnowledgeTool({ search: () => Promise.reject(new Error('down')) })
    expect(await (await toolFixture([])).run(broken, { query: 'x' })).toMatchObject({
      ok: false,
      error: { code: 'search_knowledge_failed' },
    })
  })
})

it('tools 18.115: a search tool exists only when the application supplies the search', async () => {
  const ask = [reply.call('react.memsearch', { query: 'x' }), reply.call('react.search_knowledge', { query: 'x' }), reply.answer('Done.')]
  const without = createHarness({ replies: ask })
  await without.say('Look.')
  expect(await codesOf(without)).toEqual(['protocol_violation.tool_call_invalid', 'protocol_violation.tool_call_invalid'])
  const builtIn = { memory: { search: async () => ({ hits: [] }) }, knowledgeSearch: { search: async () => [] } }
  const having = createHarness({ replies: ask, builtIn })
  await having.say('Look.')
  expect(await codesOf(having)).toEqual([])
})
