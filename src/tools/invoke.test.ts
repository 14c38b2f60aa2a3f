import { expect, it } from 'vitest'
import { z } from 'zod'
import { failingTools } from '../../test/support/scenario-tools.ts'
import { toolFixture } from '../../test/support/tool-fixture.ts'
import { defineTool } from './define.ts'
import { invoke } from './invoke.ts'
import type { Tool } from './tool.ts'

const tool = (run: () => unknown, timeoutMs?: number) =>
  defineTool({ id: 'test.tool', description: 'Does it.', params: z.object({}), run: run as () => string, ...(timeoutMs && { timeoutMs }) })

const { call } = await toolFixture([])

it('a tool that returns a value gives its outcome synchronously', () => {
  expect(
    invoke(
      tool(() => 'done'),
      {},
      call,
    ),
  ).toMatchObject({ outcome: { ok: true, output: 'done' }, stopped: false, abandoned: false })
})

it('a tool that throws or refuses its parameters gives its outcome synchronously', () => {
  const [throws, , , checks] = failingTools() as [Tool, Tool, Tool, Tool]
  expect(invoke(throws, {}, call)).toMatchObject({
    outcome: { ok: false, error: { code: 'tool_call_error', message: 'there was no door' } },
  })
  expect(invoke(checks, { amount: -1 }, call)).toMatchObject({ outcome: { ok: false, error: { code: 'invalid_params' } }, stopped: false })
})

it.each([
  ['a promise', async () => 'done'],
  ['a promise with an overridden `then`', () => Object.defineProperty(Promise.resolve('done'), 'then', { value: () => 'other' })],
  ['a thenable', () => Object.fromEntries([['then', (resolve: (value: string) => void) => resolve('done')]])],
])('everything that can be awaited is awaited: %s', async (_, run) => {
  expect(await invoke(tool(run), {}, call)).toMatchObject({ outcome: { ok: true, output: 'done' }, abandoned: false })
})

it('a synchronous tool with a timeout leaves no timer running', async () => {
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

it('a hand-made tool that returns no outcome fails the call, synchronous or not', async () => {
  const nothing = { ...tool(() => 'x'), run: () => undefined as never }
  const later = { ...nothing, run: async () => undefined as never }
  for (const each of [nothing, later])
    expect((await invoke(each, {}, call)).outcome).toMatchObject({ ok: false, error: { code: 'tool_call_error' } })
})
