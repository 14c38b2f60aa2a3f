import { expect, it } from 'vitest'
import { z } from 'zod'
import { faulty } from '../../test/support/scenario-tools.ts'
import { toolFixture } from '../../test/support/tool-fixture.ts'
import { defineTool } from './define.ts'
import { invoke } from './invoke.ts'
import type { Tool } from './tool.ts'

const tool = (run: () => unknown, timeoutMs?: number) =>
  defineTool({ id: 'test.tool', description: 'Does it.', params: z.object({}), run: run as () => string, ...(timeoutMs && { timeoutMs }) })

const { call } = await toolFixture([])

it('a tool that is done when it returns is not waited for', () => {
  expect(
    invoke(
      tool(() => 'done'),
      {},
      call,
    ),
  ).toMatchObject({ outcome: { ok: true, output: 'done' }, stopped: false, abandoned: false })
})

it('nor is one that throws, or one that does not accept its parameters', () => {
  const [throws, , , checks] = faulty() as [Tool, Tool, Tool, Tool]
  expect(invoke(throws, {}, call)).toMatchObject({
    outcome: { ok: false, error: { code: 'tool_call_error', message: 'there was no door' } },
  })
  expect(invoke(checks, { amount: -1 }, call)).toMatchObject({ outcome: { ok: false, error: { code: 'invalid_params' } }, stopped: false })
})

it.each([
  ['a promise', async () => 'done'],
  [
    'one with a `then` of its own, as awaiting it would',
    () => Object.defineProperty(Promise.resolve('done'), 'then', { value: () => 'other' }),
  ],
  ['what only looks like one', () => Object.fromEntries([['then', (resolve: (value: string) => void) => resolve('done')]])],
])('whatever else can be awaited is: %s', async (_, run) => {
  expect(await invoke(tool(run), {}, call)).toMatchObject({ outcome: { ok: true, output: 'done' }, abandoned: false })
})

it('one that has a time and is done when it returns leaves no timer behind', async () => {
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  expect(
    await invoke(
      tool(() => 'done', 60_000),
      {},
      call,
    ),
  ).toMatchObject({ outcome: { ok: true, output: 'done' } })
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout')).toHaveLength(before)
})

it('a tool made by hand that returns no outcome has failed, at once or later', async () => {
  const nothing = { ...tool(() => 'x'), run: () => undefined as never }
  const later = { ...nothing, run: async () => undefined as never }
  for (const each of [nothing, later])
    expect((await invoke(each, {}, call)).outcome).toMatchObject({ ok: false, error: { code: 'tool_call_error' } })
})
