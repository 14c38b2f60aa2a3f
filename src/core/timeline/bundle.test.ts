import { describe, expect, it } from 'vitest'
import { minute } from '../../testing/blocks.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { forkBundle, importChanges, parseBundle } from './bundle.ts'
import { blocksOf } from './timeline.ts'

const block = { id: 'b_1', type: 'user.prompt', author: 'user', turn_id: 't1', ts: minute(0), text: 'q' }
const bundle = (timeline: object = {}, others: object = {}) => ({
  format: 'daybook.bundle',
  version: 1,
  conversation_id: 'c1',
  timeline: { version: 1, ts: minute(0), blocks: [block], sources_pool: [], ...timeline },
  sources_pool: { sources_pool: [], next_sid: 1 },
  turn_logs: [{ turn_id: 't1', ts: minute(0), blocks: [block], end_ts: null, sources_used: [], blocks_count: 1, tokens: null }],
  archive: [],
  blobs: {},
  ...others,
})
const log = (fields: object) => bundle({}, { turn_logs: [{ turn_id: 't1', blocks: [block], ...fields }] })
const pool = (...sids: readonly number[]) => ({
  sources_pool: { sources_pool: sids.map((sid) => ({ sid, url: `https://a.example/${sid}` })), next_sid: Math.max(...sids) + 1 },
})

describe('a bundle', () => {
  it('is parsed unchanged', () => {
    expect(parseBundle(bundle()).timeline.blocks).toEqual([block])
  })

  const invalid: Readonly<Record<string, unknown>> = {
    'a log whose start is a number': log({ ts: 5 }),
    'a log whose end is an object': log({ end_ts: {} }),
    'a log whose sources are a string': log({ sources_used: 'x' }),
    'a log whose sources are strings': log({ sources_used: ['1'] }),
    'a log whose token count is a string': log({ tokens: 'many' }),
    'a fork without conversation and turn': bundle({ forked_from: 'x' }),
    'a source snapshot without rows': bundle({ sources_pool: [1, 'x', null] }),
    'a cache time after the last date': bundle({ cache_last_touch_at: 1e300 }),
    'a cache time before the first date': bundle({ cache_last_touch_at: -1e13 }),
    'a block number that leaves no room for more': bundle({ blocks: [{ ...block, id: 'b_999999999999999' }] }, { turn_logs: [] }),
    'a source number that leaves no room for more': bundle({}, pool(Number.MAX_SAFE_INTEGER - 1)),
  }
  for (const [name, value] of Object.entries(invalid)) {
    it(`is rejected with bundle.invalid: ${name}`, () => {
      expect(() => parseBundle(value)).toThrow(expect.objectContaining({ name: 'Failure', code: 'bundle.invalid' }))
    })
  }

  it('may hold more rows than a function call takes arguments', () => {
    const sids = Array.from({ length: 200_000 }, (_, index) => index + 1)
    const rows = sids.map((sid) => ({ sid, url: 'https://a.example' }))
    const many = bundle({}, { sources_pool: { sources_pool: rows, next_sid: 200_001 } })
    expect(parseBundle(many).sources_pool.sources_pool.length).toBe(200_000)
  })
})

describe('a single timeline payload', () => {
  const parse = (blocks: readonly object[], others: object = {}) => parseBundle({ version: 1, ts: minute(9), blocks, ...others })
  const prompt = (text: string, fields: object = {}) => ({ type: 'user.prompt', turn_id: 't1', ts: minute(1), text, ...fields })

  it('timeline 11.11: starts at its latest summary; earlier blocks are history', () => {
    const summary = (text: string) => prompt(text, { type: 'conv.range.summary' })
    const { timeline, turn_logs, archive } = parse([prompt('A'), summary('first'), prompt('B'), summary('second'), prompt('C')])
    expect(timeline.blocks.map(({ text }) => text)).toEqual(['second', 'C'])
    expect(turn_logs.map(({ blocks }) => blocks.map(({ text }) => text))).toEqual([['A', 'B', 'C']])
    expect(archive.map(({ text }) => text)).toEqual(['first'])
  })

  it('may mark a block as hidden at its top level', () => {
    const { timeline } = parse([
      prompt('long', { hidden: true, replacement_text: 'short', meta: { iteration: 0 } }),
      prompt('b', { hidden: false }),
    ])
    expect(timeline.blocks).toEqual([
      { ...prompt('long'), id: 'b_1', author: 'agent', meta: { iteration: 0, hidden: true, replacement_text: 'short' } },
      { ...prompt('b', { hidden: false }), id: 'b_2', author: 'agent' },
    ])
  })

  it('keeps the sids of its sources, which texts cite', () => {
    const row = (name: string, sid?: number) => ({ url: `https://${name}.example`, title: name, ...(sid !== undefined && { sid }) })
    const { sources_pool } = parse([], { sources_pool: [row('a', 5), row('b', 7), row('c'), row('d', 5), row('b')] })
    expect(sources_pool.sources_pool.map(({ sid, title }) => [sid, title])).toEqual([
      [5, 'a'],
      [7, 'b'],
      [8, 'c'],
      [9, 'd'],
    ])
    expect(sources_pool.next_sid).toBe(10)
  })

  it('may have times without a zone, which are UTC', () => {
    const { timeline } = parse([prompt('x', { ts: '2026-02-09T02:14:32.676425' }), prompt('y', { ts: 'soon' })], {
      ts: '2026-02-09T03:00:00',
      conversation_started_at: '2026-02-09 01:00:00',
    })
    expect(timeline.blocks.map(({ ts }) => ts)).toEqual(['2026-02-09T02:14:32.676425Z', '2026-02-09T03:00:00Z'])
    expect(timeline).toMatchObject({ ts: '2026-02-09T03:00:00Z', conversation_started_at: '2026-02-09T01:00:00Z' })
  })

  it('without a time has the time of its last block', () => {
    expect(parseBundle({ version: 1, blocks: [prompt('x'), prompt('y', { ts: minute(7) })] }).timeline.ts).toBe(minute(7))
    expect(parseBundle({ version: 1, blocks: [] }).timeline.ts).toBe(null)
  })

  it('of many turns is imported in linear time', () => {
    const many = Array.from({ length: 40_000 }, (_, n) => prompt('x', { turn_id: `t${n}` }))
    expect(importChanges(parse(many)).length).toBeGreaterThan(40_000)
  })
})

async function twoTurns() {
  const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.'), reply.answer('Other.')] })
  const first = await harness.say('first')
  const second = await harness.say('second')
  return { harness, first, second, bundle: await harness.store.exportBundle('c1') }
}

it('a fork ends with the given turn, records its origin, and continues independently', async () => {
  const { harness, first, bundle } = await twoTurns()
  await harness.store.importBundle(forkBundle(bundle, first.turnId), { as: 'c2' })
  const forked = await harness.store.loadVisible('c2')
  expect(forked?.timeline).toMatchObject({ forkedFrom: { conversation_id: 'c1', turn_id: first.turnId } })
  const result = await harness.agent.run('c2', 'second, but otherwise').result
  expect(result.answer).toBe('Other.')
  const prompts = async (id: string) =>
    blocksOf((await harness.store.loadVisible(id))?.timeline ?? (forked as NonNullable<typeof forked>).timeline)
      .filter(({ type }) => type === 'user.prompt')
      .map(({ text }) => text)
  expect(await prompts('c2')).toEqual(['first', 'second, but otherwise'])
  expect(await prompts('c1')).toEqual(['first', 'second'])
})

it('a fork without a turn has everything, and a fork at an unknown turn is rejected', async () => {
  const { second, bundle } = await twoTurns()
  expect(forkBundle(bundle).timeline.blocks).toEqual(bundle.timeline.blocks)
  expect(() => forkBundle(bundle, 'turn_x')).toThrow(
    `turn turn_x does not exist or is not finished; the latest finished turn is ${second.turnId}`,
  )
})
