import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ToolsFor, TurnChoices } from '../../src/agent/turn/turn-options.ts'
import { roughTokens } from '../../src/core/estimate/tokens.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { idealBill, type LayeredCall, sumBills } from '../../src/testing/cache-bills.ts'
import { createCacheSimulator } from '../../src/testing/cache-simulator.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { toNative } from '../support/models/to-native.ts'

const page = defineTool({
  id: 'library.page',
  description: 'A page of a book.',
  params: z.object({ page: z.number().int(), characters: z.number().int() }),
  repeatable: true,
  parallel: true,
  run: ({ page: n, characters }) => `Page ${n}. ${`House ${n} has a red door. `.repeat(characters / 24)}`.slice(0, characters),
})

let pages = 0
const read = (characters: number): Reply => reply.call('library.page', { page: ++pages, characters }, { notes: `Page ${pages}.` })
const turn = (characters: number): readonly Reply[] => [
  ...Array.from({ length: 5 }, () => read(characters)),
  reply.answer('Read. '.repeat(40)),
]
const broken: Reply = '<channel:thinking>x</channel:thinking><channel:action>{"action": </channel:action>'

interface Conversation {
  readonly turns: readonly (readonly Reply[])[]
  readonly steer?: true
  readonly options?: (turn: number) => TurnChoices
  readonly toolsFor?: ToolsFor
  /** Default: 20. The cache of the provider expires after 300 seconds. */
  readonly secondsPerCall?: number
  /** The model `other` speaks the other dialect. */
  readonly otherDialect?: true
  /** Every call waits for an approval. */
  readonly approvals?: true
}

const conversations: Readonly<Record<string, Conversation>> = {
  'small results': { turns: Array.from({ length: 5 }, () => turn(2_000)) },
  'large results': { turns: Array.from({ length: 4 }, () => turn(7_000)) },
  'refused replies': { turns: Array.from({ length: 5 }, () => [broken, ...turn(2_000)]) },
  'an approval for every call': { turns: Array.from({ length: 4 }, () => turn(2_000)), approvals: true },
  'a subset of the tools in every second turn': {
    turns: Array.from({ length: 5 }, () => turn(2_000)),
    options: (index) => (index % 2 === 0 ? {} : { tools: ['library.page'] }),
  },
  'instructions and a limit of rounds for every turn': {
    turns: Array.from({ length: 5 }, () => turn(2_000)),
    options: (index) => ({ instructions: `Look at house ${index} first.`, maxRounds: 8 + index }),
  },
  'another model in every second turn': {
    turns: Array.from({ length: 6 }, () => turn(2_000)),
    options: (index) => (index % 2 === 0 ? {} : { model: 'other' }),
  },
  'another model in every second turn, with many rounds': {
    turns: Array.from({ length: 4 }, () => [...Array.from({ length: 24 }, () => read(1_000)), reply.answer('Read.')]),
    options: (index) => ({ maxRounds: 30, ...(index % 2 === 1 && { model: 'other' }) }),
    secondsPerCall: 5,
  },
  'another model that speaks the other dialect in every second turn': {
    turns: Array.from({ length: 6 }, () => turn(2_000)),
    options: (index) => (index % 2 === 0 ? {} : { model: 'other' }),
    otherDialect: true,
  },
  'a subset that the application chooses for every turn': {
    turns: Array.from({ length: 5 }, () => turn(2_000)),
    toolsFor: ({ text }) => (text.startsWith('Request 3') ? undefined : ['library.page', 'react.read'].slice(0, 1 + (Number(text[8]) % 2))),
  },
  'approvals, chosen tools, other models, instructions and limits together': {
    turns: Array.from({ length: 6 }, () => turn(2_000)),
    toolsFor: ({ text }) => (Number(text[8]) % 2 === 1 ? ['library.page'] : undefined),
    options: (index) => ({
      ...(index % 3 === 1 && { model: 'other' }),
      ...(index % 2 === 0 && { instructions: `Look at house ${index} first.`, maxRounds: 8 + index }),
    }),
    approvals: true,
  },
  'a steer in every turn': { turns: Array.from({ length: 5 }, () => turn(2_000)), steer: true },
}

/**
 * Every prompt of a conversation with a real agent, for each model, and what is repeated of it. The last two parts are the tail, which
 * changes always.
 */
async function promptsOf(
  name: string,
  dialect: 'channels' | 'native',
): Promise<Readonly<Record<'usual' | 'other', readonly LayeredCall[]>>> {
  pages = 0
  const { turns, steer, options, approvals, toolsFor, otherDialect, secondsPerCall = 20 } = conversations[name] as Conversation
  const opposite = dialect === 'native' ? 'channels' : 'native'
  const clock = createFixedClock()
  const replies = turns.flat()
  const scripted = scriptedModel(
    replies.map((each) => (request) => (request.tools ? givenBy(toNative(each), request) : givenBy(each, request))),
    { dialect, window: 1e9 },
  )
  const calls = { usual: [] as LayeredCall[], other: [] as LayeredCall[] }
  const model = (modelName: 'usual' | 'other') => ({
    ...scripted,
    name: modelName,
    dialect: modelName === 'other' && otherDialect ? opposite : dialect,
    get left() {
      return scripted.left
    },
    stream(request: ModelRequest, signal: AbortSignal) {
      if (request.role === 'decision') calls[modelName].push(layered(request, Date.parse(clock.now()) / 1000))
      clock.advance(secondsPerCall * 1_000)
      return scripted.stream(request, signal)
    },
  })
  const harness = createHarness({
    replies: [],
    model: model('usual'),
    models: { other: model('other') },
    clock,
    tools: [page],
    settings: { dialect: 'auto', contextTokens: 1e9 },
    ...(toolsFor && { toolsFor }),
    approve: () => (approvals ? 'ask' : 'allow'),
  })
  let waits = 0
  for (const [index] of turns.entries()) {
    const running = harness.agent.run('c1', `Request ${index}. ${'More words. '.repeat(20)}`, options?.(index)).result
    if (steer) await harness.agent.steer('c1', `Look at house ${index}.`)
    await running
    for (;;) {
      const [wait] = (await harness.agent.waiting()).waits
      if (wait?.callId === undefined) break
      await harness.agent.decide('c1', wait.callId, { approved: true })
      waits++
      await harness.agent.drain(5_000)
    }
  }
  expect(waits > 0).toBe(approvals === true)
  return calls
}

const givenBy = (given: Reply, request: ModelRequest) => (typeof given === 'function' ? given(request) : given)

const layered = ({ system, tools, parts }: ModelRequest, at: number): LayeredCall => ({
  system: (tools ? JSON.stringify(tools) : '') + system,
  parts,
  stableParts: parts.length - 2,
  at,
})

/** The cache of a provider holds the prompts of each model by itself, so each model has its own simulator and its own ideal. */
function costsOf(calls: readonly LayeredCall[]): { readonly ours: number; readonly ideal: number } {
  const cache = createCacheSimulator({ kind: 'anthropic', minimumTokens: 1_024, ttlSeconds: 300, count: roughTokens })
  return { ours: sumBills(calls.map((call) => cache.call(call))).cost, ideal: idealBill(calls, roughTokens).cost }
}

describe.each(['channels', 'native'] as const)('in the dialect %s', (dialect) => {
  it.each(Object.keys(conversations))('%s cost at most 1.02 × the ideal', async (name) => {
    const { usual, other } = await promptsOf(name, dialect)
    const costs = [usual, other].map(costsOf)
    const sum = (pick: (cost: (typeof costs)[number]) => number) => costs.reduce((total, cost) => total + pick(cost), 0)
    expect(usual.length + other.length).toBeGreaterThan(20)
    expect(other.length > 0).toBe(name.includes('other model'))
    expect(sum(({ ours }) => ours) / sum(({ ideal }) => ideal)).toBeLessThanOrEqual(1.02)
    const { otherDialect } = conversations[name] as Conversation
    expect(new Set([...usual, ...other].map(({ system }) => system)).size).toBe(otherDialect ? 2 : 1)
  })
})
