import { expect, it } from 'vitest'
import { z } from 'zod'
import { failingTools } from '../../test/support/scenario-tools.ts'
import { toolFixture } from '../../test/support/tool-fixture.ts'
import { defineTool } from './define.ts'
import { invoke } from './invoke.ts'
import { outcomeOf } from './outcome.ts'
import type { Tool } from './tool.ts'

const tool = (run: () => unknown, timeoutMs?: number) =>
  defineTool({ id: 'test.tool', description: 'Does it.', params: z.object({}), run: run as () => string, ...(timeoutMs && { timeoutMs }) })

const { call } = await toolFixture([])
const grace = { stopGraceMs: 1_000, maxResultBytes: 1_000_000 }

it('a tool that returns a value gives its outcome synchronously', () => {
  expect(
    invoke(
      tool(() => 'done'),
      {},
      call,
      grace,
    ),
  ).toMatchObject({ outcome: { ok: true, output: 'done' }, stopped: false, abandoned: false })
})

it('an output is measured without its inherited properties', () => {
  const inherited = Object.create({
    get x() {
      throw new Error('inherited')
    },
  })
  const returnsIt: Tool = { ...tool(() => ''), run: () => outcomeOf({ ok: true, ret: inherited }) }
  expect(invoke(returnsIt, {}, call, grace)).toMatchObject({ outcome: { ok: true } })
})

it('a tool that throws or refuses its parameters gives its outcome synchronously', () => {
  const [throws, , , checks] = failingTools() as [Tool, Tool, Tool, Tool]
  expect(invoke(throws, {}, call, grace)).toMatchObject({
    outcome: { ok: false, error: { code: 'tool_call_error', message: 'there was no door' } },
  })
  expect(invoke(checks, { amount: -1 }, call, grace)).toMatchObject({
    outcome: { ok: false, error: { code: 'invalid_params' } },
    stopped: false,
  })
})

it.each([
  ['a promise', async () => 'done'],
  ['a promise with an overridden `then`', () => Object.defineProperty(Promise.resolve('done'), 'then', { value: () => 'other' })],
  ['a thenable', () => Object.fromEntries([['then', (resolve: (value: string) => void) => resolve('done')]])],
])('everything that can be awaited is awaited: %s', async (_, run) => {
  expect(await invoke(tool(run), {}, call, grace)).toMatchObject({ outcome: { ok: true, output: 'done' }, abandoned: false })
})

it('a synchronous tool with a timeout leaves no timer running', async () => {
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  expect(
    await invoke(
      tool(() => 'done', 60_000),
      {},
      call,
      grace,
    ),
  ).toMatchObject({ outcome: { ok: true, output: 'done' } })
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout')).toHaveLength(before)
})

it('a hand-made tool that returns no outcome fails the call, synchronous or not', async () => {
  const nothing = { ...tool(() => 'x'), run: () => undefined as never }
  const later = { ...nothing, run: async () => undefined as never }
  for (const each of [nothing, later])
    expect((await invoke(each, {}, call, grace)).outcome).toMatchObject({ ok: false, error: { code: 'tool_call_error' } })
})

it.each([
  ['within the grace after its timeout still counts', 10_000, { outcome: { ok: true, output: 'late' }, abandoned: false }],
  ['after the grace is ignored', 20, { outcome: { ok: false, error: { code: 'tool_timeout' } }, stopped: false, abandoned: true }],
])('a result of a tool that ignores its signal %s', async (_, stopGraceMs, expected) => {
  const ignoresSignal = tool(() => new Promise((resolve) => setTimeout(() => resolve('late'), 200)), 10)
  expect(await invoke(ignoresSignal, {}, call, { stopGraceMs, maxResultBytes: 1_000_000 })).toMatchObject(expected)
})

it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '500'])(
  'a timeout must be a time that a timer can wait: %s',
  (timeoutMs) => {
    expect(() =>
      defineTool({ id: 'test.tool', description: '', params: z.object({}), run: () => '', timeoutMs: timeoutMs as number }),
    ).toThrow(/test\.tool: `timeoutMs` must be/)
  },
)
