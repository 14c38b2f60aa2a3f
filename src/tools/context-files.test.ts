import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { hostingOn } from '../../test/support/hosting.ts'
import { fileWritingTool, program, weather } from '../../test/support/scenario-tools.ts'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import { createAgentFrom } from '../agent/agent.ts'
import { localScope } from '../core/scope.ts'
import { parsePayload } from '../core/timeline/payload.ts'
import { createFixedClock } from '../testing/fixed-clock.ts'
import { createHarness, type Harness } from '../testing/harness.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { defineTool } from './define.ts'

const runtimeOf = async (harness: Harness) => (await harness.workspaces.open(localScope, 'c1')).runtime

async function readJson(harness: Harness, path: string): Promise<unknown> {
  const bytes = await (await runtimeOf(harness)).read(path)
  return bytes && JSON.parse(Buffer.from(bytes).toString())
}

const callPaths = async (harness: Harness) => (await (await runtimeOf(harness)).list('tool_calls')).files.map(({ path }) => path)

describe('the context files of a turn', () => {
  it('are the timeline, the sources and each call, when a tool has opened the workspace', async () => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const replies = [
      reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking.' }),
      reply.call('react.write', { path: 'a.md', channel: 'canvas', content: 'x', kind: 'file' }),
      reply.answer('Done.'),
    ]
    const harness = createHarness({ store, clock, hosting: hostingOn(store.blobs).hosting, tools: [weather()], replies })
    await harness.say('Write.')
    const payload = await readJson(harness, 'timeline.json')
    expect(parsePayload(payload)).toMatchObject({ version: 1, conversation_title: 'A scripted conversation' })
    expect(JSON.stringify(payload)).toContain('"assistant.completion"')
    expect(JSON.stringify(payload)).not.toMatch(/hosted_uri|"rn"/)
    expect(await readJson(harness, 'sources_pool.json')).toEqual({ sources: [], next_sid: 1 })
    const calls_ = (await (await runtimeOf(harness)).list('tool_calls')).files.map(({ path }) => path)
    expect(calls_).toHaveLength(2)
    expect(await readJson(harness, calls_[0] ?? '')).toEqual({
      description: 'Looking.',
      in: { tool_id: 'weather.today', params: { city: 'Rome' } },
      ret: { ok: true, error: null, ret: { city: 'Rome', sky: 'clear', degrees: 21 } },
    })
  })

  it('include calls whose result can not be serialised, and contain no hosting handles', async () => {
    const returning = (id: string, value: unknown) =>
      defineTool({ id, description: 'Returns it.', params: z.object({}), run: () => value as never })
    const cyclic: { me?: object } = {}
    cyclic.me = cyclic
    const declared = { artifact_type: 'files', files: [{ filename: 'a.txt', rn: 'ef:secret', key: 'secret', hosted_uri: 's3://secret' }] }
    const harness = createHarness({
      tools: [returning('test.cyclic', cyclic), returning('test.declared', declared), weather()],
      replies: [
        reply.call('react.search_files'),
        reply.call('test.cyclic'),
        reply.call('test.declared'),
        reply.call('weather.today', { city: 'Rome' }),
        reply.answer('Done.'),
      ],
    })
    await harness.say('Go.')
    const paths = (await (await runtimeOf(harness)).list('tool_calls')).files.map(({ path }) => path)
    const records = await Promise.all(paths.map((path) => readJson(harness, path)))
    expect(records.map((record) => (record as { in: object; ret: object }).ret)).toMatchObject([
      { ok: true },
      { ok: false, error: { code: 'result_unfit' } },
      { ok: true, ret: { files: [{ filename: 'a.txt' }] } },
      { ok: true, ret: { city: 'Rome' } },
    ])
    expect(JSON.stringify(records)).not.toContain('secret')
  })

  it('are not written when no tool has opened the workspace', async () => {
    const harness = createHarness({ tools: [weather()], replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')] })
    await harness.say('Look.')
    expect((await (await runtimeOf(harness)).list('')).files).toEqual([])
  })

  it('are written before each program runs, in a turn that has not opened the workspace yet', async () => {
    const seen: unknown[] = []
    const reader = {
      ...fileWritingTool(),
      async run() {
        seen.push(await readJson(harness, 'timeline.json'), await callPaths(harness))
        return { ok: true, output: {} }
      },
    }
    const run = (code: string) =>
      reply.call('sample.press', { contract: [{ filename: 'files/a.txt', description: 'A file.', visibility: 'internal' }] }, { code })
    const harness: Harness = createHarness({
      tools: [reader, weather()],
      replies: [run('first()'), run('second()'), reply.answer('Done.')],
    })
    await harness.say('Run.')
    const [first, before, second, between] = seen
    expect(parsePayload(first).blocks.at(-1)).toMatchObject({ type: 'react.tool.call' }) // the call that runs the program
    expect([JSON.stringify(first), JSON.stringify(second)].map((text) => text.includes('second()'))).toEqual([false, true])
    expect([before, between]).toMatchObject([[], { length: 1 }])
  })

  it('are kept current by later turns that use no file, even when another process runs them', async () => {
    const write = reply.call('react.write', { path: 'a.md', channel: 'canvas', content: 'x', kind: 'file' })
    const first = createHarness({ replies: [write, reply.answer('Written.'), reply.answer('Second answer.')] })
    await first.say('Write.')
    await first.say('Thanks.')
    expect(JSON.stringify(await readJson(first, 'timeline.json'))).toContain('Second answer.')
    const { store, clock, workspaces } = first
    const next = createHarness({
      store,
      clock,
      workspaces,
      tools: [weather()],
      replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('Third answer.')],
    })
    await next.say('And?')
    expect(JSON.stringify(await readJson(next, 'timeline.json'))).toContain('Third answer.')
    expect(await callPaths(next)).toHaveLength(2)
  })

  it('are not written for a program when the agent has no workspace', async () => {
    const replies = [
      reply.call('sample.run', { contract: [{ filename: 'files/a.txt', description: 'A file.' }] }, { code: 'x()' }),
      reply.answer('Done.'),
    ]
    const { store, clock } = createHarness({ replies: [] })
    const problems: unknown[] = []
    const model = scriptedModel(replies)
    const agent = createAgentFrom({ model, store, clock, tools: [program()], onProblem: (problem) => problems.push(problem) })
    expect(await agent.run('c1', 'Run.').result).toMatchObject({ exitReason: 'complete' })
    expect(JSON.stringify(model.requests.at(-1)?.parts)).toContain('ran 3 characters')
    expect(problems).toEqual([])
  })

  it('are not required: a write error is reported to the operator, and the turn continues', async () => {
    const base = createHarness({ replies: [] })
    const problems: unknown[] = []
    const broken = {
      ...base.workspaces,
      open: async (...who: Parameters<typeof base.workspaces.open>) => ({
        ...(await base.workspaces.open(...who)),
        runtime: { ...(await runtimeOf(base)), write: () => Promise.reject(new Error('full')) },
      }),
    }
    const harness = createHarness({
      workspaces: broken,
      onProblem: ({ where }) => problems.push(where),
      replies: [reply.call('react.write', { path: 'a.md', channel: 'canvas', content: 'x', kind: 'display' }), reply.answer('Done.')],
    })
    expect(await harness.say('Write.')).toMatchObject({ exitReason: 'complete', answer: 'Done.' })
    expect(new Set(problems)).toEqual(new Set(['workspace']))
  })
})
