import { expect, it } from 'vitest'
import { z } from 'zod'
import { readNotice } from '../../core/block/index.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'

const maxResultBytes = 5_000

/** Runs one call of a tool that does `work`, and returns the result blocks and notices of the call. */
async function callTool(work: () => unknown, more: readonly ReturnType<typeof reply.call>[] = [], settings: object = {}) {
  const tool = defineTool({ id: 'big.fetch', description: 'Returns much.', params: z.object({}), run: work })
  const harness = createHarness({
    replies: [reply.call('big.fetch', {}), ...more, reply.answer('Done.')],
    tools: [tool],
    settings: { maxResultBytes, ...settings },
  })
  const turn = await harness.say('go')
  const blocks = blocksOf(await harness.timeline())
  return {
    harness,
    turn,
    blocks,
    results: blocks.filter(({ type }) => type === 'react.tool.result'),
    notices: blocks.flatMap((block) => readNotice(block) ?? []),
  }
}

const lines = (count: number) => Array.from({ length: count }, (_, n) => `line ${n + 1}`).join('\n')
const longest = (blocks: readonly { readonly text?: string | undefined }[]) => Math.max(...blocks.map(({ text = '' }) => text.length))
const filePath = (blocks: readonly { readonly path?: string | undefined }[]) =>
  blocks.find(({ path }) => path?.startsWith('fi:'))?.path ?? ''

const large: Readonly<Record<string, () => unknown>> = {
  'a text': () => lines(1_000),
  'an object': () => ({ rows: Array.from({ length: 1_000 }, (_, n) => ({ line: `line ${n + 1}` })) }),
  'a list of numbers': () => Array.from({ length: 5_000 }, (_, n) => n),
  async *'an async generator'() {
    for (let n = 1; n <= 1_000; n++) yield `line ${n}\n`
  },
  'a stream of bytes': () => new Blob([lines(1_000)]).stream(),
  'a failure with a long message': () => {
    throw new Error(lines(1_000))
  },
  'a failure with large details': () => ({ ok: false, error: { code: 'x', message: 'failed', details: { rows: lines(1_000) } } }),
}

for (const [name, work] of Object.entries(large)) {
  it(`keeps ${name} of more than maxResultBytes out of the journal rows and out of the prompt`, async () => {
    const { results, blocks, turn } = await callTool(work)
    expect(turn.answer).toBe('Done.')
    expect(longest(results)).toBeLessThan(maxResultBytes)
    expect(longest(blocks)).toBeLessThan(maxResultBytes)
  })
}

it('stores the whole result as a file that the model can read', async () => {
  for (const name of ['a text', 'an async generator', 'a stream of bytes']) {
    const { results } = await callTool(large[name] as () => unknown)
    expect(results.map(({ text }) => text).join('\n')).toContain('line 1\n')
    const path = filePath(results)
    expect(results.some(({ text }) => text?.includes(path))).toBe(true)
    const second = await callTool(large[name] as () => unknown)
    const [turnId] = second.results.map(({ turn_id }) => turn_id)
    expect(filePath(second.results)).toContain(String(turnId))
  }
})

it('react.read reads the end of a large result', async () => {
  const tool = defineTool({ id: 'big.fetch', description: 'Returns much.', params: z.object({}), run: () => lines(1_000) })
  const harness = createHarness({
    replies: [reply.call('big.fetch', {}), reply.answer('Done.')],
    tools: [tool],
    settings: { maxResultBytes },
  })
  await harness.say('go')
  const path = filePath(blocksOf(await harness.timeline()))
  const reading = createHarness({
    replies: [reply.call('react.read', { paths: [], items: [{ path, line_start: 990, line_count: 20 }] }), reply.answer('Read.')],
    store: harness.store,
    workspaces: harness.workspaces,
  })
  await reading.say('read the end')
  expect(blocksOf(await reading.timeline()).some(({ text }) => text?.includes('line 1000'))).toBe(true)
})

it('stops reading a stream that does not end, and says that the rest was not read', async () => {
  let stopped = false
  const { results, turn } = await callTool(async function* () {
    try {
      for (let n = 0; ; n++) yield `${n} `.repeat(200_000)
    } finally {
      stopped = true
    }
  })
  expect(turn.answer).toBe('Done.')
  expect(stopped).toBe(true)
  expect(results.map(({ text }) => text).join('\n')).toContain('was not read')
})

it('a stream that is within the limit is the result itself', async () => {
  const { results } = await callTool(async function* () {
    yield 'one '
    yield Buffer.from('two')
  })
  expect(results.at(-1)?.text).toBe('one two')
})

it('a stream that fails is a failed call', async () => {
  const { results, notices } = await callTool(async function* () {
    yield 'one'
    throw new Error('the connection broke')
  })
  expect(JSON.stringify([results, notices])).toContain('the connection broke')
})

it('a value that can not be written as JSON is still an unfit result, however large it is', async () => {
  const cyclic: { rows: string; self?: unknown } = { rows: lines(1_000) }
  cyclic.self = cyclic
  const { results } = await callTool(() => cyclic)
  expect(results.at(-1)?.text).toContain('result_unfit')
})
