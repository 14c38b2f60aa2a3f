import { describe, expect, it } from 'vitest'
import { minute } from '../../testing/blocks.ts'
import { createHarness } from '../../testing/harness.ts'
import { answers } from '../../testing/scripted-model.ts'
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
  it('is read as it is', () => {
    expect(parseBundle(bundle()).timeline.blocks).toEqual([block])
  })

  const wrong: Readonly<Record<string, unknown>> = {
    'a log that began at a number': log({ ts: 5 }),
    'a log that ended in an object': log({ end_ts: {} }),
    'a log whose sources are a word': log({ sources_used: 'x' }),
    'a log whose sources are no numbers': log({ sources_used: ['1'] }),
    'a log that cost a word': log({ tokens: 'many' }),
    'a fork of nothing': bundle({ forked_from: 'x' }),
    'a snapshot of no rows': bundle({ sources_pool: [1, 'x', null] }),
    'a touch beyond the end of time': bundle({ cache_last_touch_at: 1e300 }),
    'a touch before its beginning': bundle({ cache_last_touch_at: -1e13 }),
    'a block after which there is none': bundle({ blocks: [{ ...block, id: 'b_999999999999999' }] }, { turn_logs: [] }),
    'a number after which there is none': bundle({}, pool(Number.MAX_SAFE_INTEGER - 1)),
  }
  for (const [name, value] of Object.entries(wrong)) {
    it(`is refused by name: ${name}`, () => {
      expect(() => parseBundle(value)).toThrow(expect.objectContaining({ name: 'Failure', code: 'bundle.invalid' }))
    })
  }

  it('may hold more rows than a call takes arguments', () => {
    const sids = Array.from({ length: 200_000 }, (_, index) => index + 1)
    const rows = sids.map((sid) => ({ sid, url: 'https://a.example' }))
    const many = bundle({}, { sources_pool: { sources_pool: rows, next_sid: 200_001 } })
    expect(parseBundle(many).sources_pool.sources_pool.length).toBe(200_000)
  })
})

describe('a bare timeline', () => {
  const bare = (blocks: readonly object[], others: object = {}) => parseBundle({ version: 1, ts: minute(9), blocks, ...others })
  const said = (text: string, fields: object = {}) => ({ type: 'user.prompt', turn_id: 't1', ts: minute(1), text, ...fields })

  it('timeline 11.11: starts at its latest summary; what stood before is history', () => {
    const summary = (text: string) => said(text, { type: 'conv.range.summary' })
    const { timeline, turn_logs, archive } = bare([said('A'), summary('first'), said('B'), summary('second'), said('C')])
    expect(timeline.blocks.map(({ text }) => text)).toEqual(['second', 'C'])
    expect(turn_logs.map(({ blocks }) => blocks.map(({ text }) => text))).toEqual([['A', 'B', 'C']])
    expect(archive.map(({ text }) => text)).toEqual(['first'])
  })

  it('may say at the top of a block that it is hidden', () => {
    const { timeline } = bare([
      said('long', { hidden: true, replacement_text: 'short', meta: { iteration: 0 } }),
      said('b', { hidden: false }),
    ])
    expect(timeline.blocks).toEqual([
      { ...said('long'), id: 'b_1', author: 'agent', meta: { iteration: 0, hidden: true, replacement_text: 'short' } },
      { ...said('b', { hidden: false }), id: 'b_2', author: 'agent' },
    ])
  })

  it('keeps the numbers of its sources, whatever else is in the snapshot: texts cite them', () => {
    const row = (name: string, sid?: number) => ({ url: `https://${name}.example`, title: name, ...(sid !== undefined && { sid }) })
    const { sources_pool } = bare([], { sources_pool: [row('a', 5), row('b', 7), row('c'), row('d', 5), row('b')] })
    expect(sources_pool.sources_pool.map(({ sid, title }) => [sid, title])).toEqual([
      [5, 'a'],
      [7, 'b'],
      [8, 'c'],
      [9, 'd'],
    ])
    expect(sources_pool.next_sid).toBe(10)
  })

  it('may tell times without a zone: they are UTC', () => {
    const { timeline } = bare([said('x', { ts: '2026-02-09T02:14:32.676425' }), said('y', { ts: 'soon' })], {
      ts: '2026-02-09T03:00:00',
      conversation_started_at: '2026-02-09 01:00:00',
    })
    expect(timeline.blocks.map(({ ts }) => ts)).toEqual(['2026-02-09T02:14:32.676425Z', '2026-02-09T03:00:00Z'])
    expect(timeline).toMatchObject({ ts: '2026-02-09T03:00:00Z', conversation_started_at: '2026-02-09T01:00:00Z' })
  })

  it('that does not say when it was written was written with its last block', () => {
    expect(parseBundle({ version: 1, blocks: [said('x'), said('y', { ts: minute(7) })] }).timeline.ts).toBe(minute(7))
    expect(parseBundle({ version: 1, blocks: [] }).timeline.ts).toBe(null)
  })

  it('of many turns costs what is there, not turns times blocks', () => {
    const many = Array.from({ length: 40_000 }, (_, n) => said('x', { turn_id: `t${n}` }))
    expect(importChanges(bare(many)).length).toBeGreaterThan(40_000)
  })
})

async function twoTurns() {
  const stage = createHarness({ replies: [answers('One.'), answers('Two.'), answers('Other.')] })
  const first = await stage.say('first')
  const second = await stage.say('second')
  return { stage, first, second, bundle: await stage.store.exportBundle('c1') }
}

it('ends with the turn, remembers where it came from, and goes on by itself', async () => {
  const { stage, first, bundle } = await twoTurns()
  await stage.store.importBundle(forkBundle(bundle, first.turnId), { as: 'c2' })
  const forked = await stage.store.loadVisible('c2')
  expect(forked?.timeline).toMatchObject({ forkedFrom: { conversation_id: 'c1', turn_id: first.turnId } })
  const told = await stage.agent.run({ conversation: 'c2', input: 'second, but otherwise' }).result
  expect(told.answer).toBe('Other.')
  const prompts = async (id: string) =>
    blocksOf((await stage.store.loadVisible(id))?.timeline ?? (forked as NonNullable<typeof forked>).timeline)
      .filter(({ type }) => type === 'user.prompt')
      .map(({ text }) => text)
  expect(await prompts('c2')).toEqual(['first', 'second, but otherwise'])
  expect(await prompts('c1')).toEqual(['first', 'second'])
})

it('takes everything when no turn is named, and refuses a turn that is not there', async () => {
  const { second, bundle } = await twoTurns()
  expect(forkBundle(bundle).timeline.blocks).toEqual(bundle.timeline.blocks)
  expect(() => forkBundle(bundle, 'turn_x')).toThrow(`there is no finished turn turn_x: name one that is, the latest is ${second.turnId}`)
})
