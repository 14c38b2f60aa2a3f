import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ModelRequest } from '../../ports/model.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import type { Tool } from '../../tools/tool.ts'
import { type RehearsedConversation, rehearse } from './rehearse.ts'
import type { ReplayParts } from './setup.ts'

const COUNT = 1_000

/** What each conversation does: most only talk, some call a tool, some get a long result, and some wait for an approval. */
const kindOf = (index: number) => (index % 50 === 0 ? 'pay' : index % 10 === 5 ? 'long' : index % 7 === 0 ? 'look' : 'talk')
const idsOf = (...kinds: readonly string[]) =>
  Array.from({ length: COUNT }, (_, index) => index)
    .filter((index) => kinds.includes(kindOf(index)))
    .map((index) => `c${index}`)
    .sort()

const look = (params: z.ZodObject = z.object({ item: z.string() })): Tool =>
  defineTool({
    id: 'shop.look',
    description: 'Looks at an item.',
    params,
    run: ({ item }) => (item === 'long' ? 'salt and bread '.repeat(20_000) : 'There are three.'),
  })

const pay = (params: z.ZodObject = z.object({ amount: z.number() })): Tool =>
  defineTool({ id: 'shop.pay', description: 'Pays.', params, approval: true, run: () => 'Paid.' })

const textOf = ({ parts }: ModelRequest) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')

function decide(request: ModelRequest): string {
  const text = textOf(request)
  const [, kind] = /Please (\w+)\./.exec(text) ?? []
  if (text.includes('[TOOL RESULT') || kind === 'talk') return reply.answer('Done.')
  return kind === 'pay' ? reply.call('shop.pay', { amount: 7 }) : reply.call('shop.look', { item: kind })
}

const model = scriptedModel(
  Array.from({ length: 2 * COUNT }, () => decide),
  { name: 'anthropic/claude-sonnet-5-5' },
)

const recorded = { instructions: 'You sell bread.', tools: [look(), pay()], settings: { title: false as const } }
let harness: Harness

beforeAll(async () => {
  harness = createHarness({ replies: [], model, ...recorded })
  for (let index = 0; index < COUNT; index++) await harness.agent.run(`c${index}`, `Please ${kindOf(index)}.`).result
}, 120_000)

async function rehearsed(parts: ReplayParts): Promise<readonly RehearsedConversation[]> {
  const results: RehearsedConversation[] = []
  for await (const result of rehearse(harness.store, parts)) results.push(result)
  expect(results.length).toBe(COUNT)
  return results
}

const idsWith = (results: readonly RehearsedConversation[], test: (result: RehearsedConversation) => boolean) =>
  results
    .filter(test)
    .map(({ conversationId }) => conversationId)
    .sort()
const places = (results: readonly RehearsedConversation[]) => new Set(results.flatMap(({ prompt }) => prompt.map(({ where }) => where)))

describe(`a rehearsal against ${COUNT} conversations names exactly those that a change affects`, () => {
  it('no change: none', async () => {
    const results = await rehearsed(recorded)
    expect(results.filter(({ prompt, divergence, unfitWaits }) => prompt.length > 0 || divergence || unfitWaits.length > 0)).toEqual([])
    expect(idsWith(results, ({ open }) => open)).toEqual(idsOf('pay'))
  })

  it('other instructions: the system text of all, and nothing else', async () => {
    const results = await rehearsed({ ...recorded, instructions: 'You sell cake.' })
    expect(idsWith(results, ({ prompt }) => prompt.length > 0)).toEqual(idsOf('talk', 'look', 'long', 'pay'))
    expect(places(results)).toEqual(new Set(['system text']))
    expect(results.filter(({ divergence, unfitWaits }) => divergence || unfitWaits.length > 0)).toEqual([])
    expect(results.every(({ lost }) => lost !== undefined && lost.tokens > 1_000 && lost.model === model.name)).toBe(true)
  })

  it('a new required parameter: the turns that called the tool', async () => {
    const tools = [look(z.object({ item: z.string(), shelf: z.string() })), pay()]
    const results = await rehearsed({ ...recorded, tools })
    expect(places(results)).toEqual(new Set(['tools', 'system text']))
    expect(idsWith(results, ({ divergence }) => divergence !== undefined)).toEqual(idsOf('look', 'long'))
    expect(results.flatMap(({ unfitWaits }) => unfitWaits)).toEqual([])
  })

  it('a tool is gone, or accepts other values: the calls that wait for an approval', async () => {
    const gone = await rehearsed({ ...recorded, tools: [look()] })
    expect(idsWith(gone, ({ unfitWaits }) => unfitWaits.length > 0)).toEqual(idsOf('pay'))
    const stricter = await rehearsed({ ...recorded, tools: [look(), pay(z.object({ amount: z.number().max(5) }))], anySystem: true })
    expect(idsWith(stricter, ({ unfitWaits }) => unfitWaits.length > 0)).toEqual(idsOf('pay'))
    expect(stricter.find(({ unfitWaits }) => unfitWaits.length > 0)?.unfitWaits).toMatchObject([
      { toolId: 'shop.pay', problem: expect.stringMatching(/amount/) },
    ])
    expect(places(stricter)).toEqual(new Set())
  })

  it('blocks are rendered differently: the prompts that have such a block, and what is cached after it', async () => {
    const results = await rehearsed({ ...recorded, builtIn: { tools: ['react.write'] }, anySystem: true })
    expect(idsWith(results, ({ prompt }) => prompt.length > 0)).toEqual(idsOf('long'))
    expect(places(results)).toEqual(new Set(['block']))
    const changed = results.find(({ prompt }) => prompt.length > 0)
    expect(changed?.prompt).toMatchObject([{ block: { type: 'react.tool.result' } }])
  })
})
