import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { createFileBlobs } from '../src/adapters/blobs/file.ts'
import { createMemoryBlobs } from '../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createMemoryStore } from '../src/adapters/store/memory/store.ts'
import { createSqliteStore } from '../src/adapters/store/sqlite/store.ts'
import { createAgentFrom } from '../src/agent/agent.ts'
import type { Agent } from '../src/agent/agent-interface.ts'
import type { ModelEvent } from '../src/core/model-event.ts'
import type { Part } from '../src/core/render/types.ts'
import type { Change } from '../src/core/timeline/change.ts'
import type { Model, ModelRequest } from '../src/ports/model.ts'
import type { ConversationStore } from '../src/ports/store.ts'
import { reply, scriptedModel } from '../src/testing/scripted-model.ts'
import { defineTool } from '../src/tools/define.ts'
import type { Call } from '../src/tools/tool.ts'

/**
 * Measures the overhead of a round in memory and on disk. This bench imports the source code of Daybook, and measures after a warm-up. The
 * bench `watched` measures the package as users have it, and the bench `growth` measures long turns.
 */
export async function bench(): Promise<void> {
  await roundInMemory()
  await nativeRound()
  await durableRound()
}

const clock = createSystemClock()
const add = defineTool({
  id: 'sum.add',
  description: 'Adds.',
  params: z.object({ a: z.number(), b: z.number() }),
  repeatable: true,
  run: ({ a, b }) => ({ sum: a + b }),
})

const callReply = reply.call('sum.add', { a: 1, b: 2 }, { thinking: 'The next number is added to what is there already.' })
const answerReply = reply.answer('Added up.')

/** The scripted model. It calls the tool in every round and then answers, and begins again in the next turn. */
function repeatedScript(rounds: number): Model {
  const inChunks = (text: string) => ({ text, chunks: CHUNK_LENGTH, usage: eventUsage })
  const script = [...Array.from({ length: rounds - 1 }, () => inChunks(callReply)), inChunks(answerReply)]
  const restart = () => scriptedModel(script, { window: 1e9 })
  let current = restart()
  return {
    name: current.name,
    window: current.window,
    stream(request, signal) {
      if (request.role === 'decision' && current.left === 0) current = restart()
      return current.stream(request, signal)
    },
  }
}

/**
 * A model with the same replies that sends prepared events. It takes half the time of the scripted model, because it does not split texts,
 * and does not look at the signal before each chunk.
 */
function steadyModel(rounds: number): Model {
  const call = eventsOf(callReply)
  const answer = eventsOf(answerReply)
  const title = eventsOf('<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Sums"}</channel:output>')
  const callCounts = new Map<string, number>()
  return {
    name: 'steady',
    window: 1e9,
    async *stream({ role, cacheKey }) {
      if (role === 'gate') return yield* title
      const count = ((callCounts.get(cacheKey) ?? 0) + 1) % rounds
      callCounts.set(cacheKey, count)
      for (const event of count === 0 ? answer : call) yield event
    },
  }
}

/** The same model in the dialect `native`: thinking, a call with its arguments in chunks, and an answer. */
function steadyNativeModel(rounds: number): Model {
  const end = { type: 'finish', finishReason: 'stop', modelName: 'steady', usage: eventUsage } as const
  const input = '{"a":1,"b":2}'
  const call: readonly ModelEvent[] = [
    ...chunksOf('The next number is added to what is there already.').map((text) => ({ type: 'reasoning.delta' as const, text })),
    { type: 'call.start', index: 0, name: 'sum__add' },
    ...chunksOf(input).map((text) => ({ type: 'call.delta' as const, index: 0, text })),
    { type: 'call.end', index: 0 },
    end,
  ]
  const answer: readonly ModelEvent[] = [{ type: 'text.delta', text: 'Added up.' }, end]
  const title = eventsOf('<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Sums"}</channel:output>')
  const callCounts = new Map<string, number>()
  return {
    name: 'steady',
    window: 1e9,
    dialect: 'native',
    async *stream({ role, cacheKey }) {
      if (role === 'gate') return yield* title
      const count = ((callCounts.get(cacheKey) ?? 0) + 1) % rounds
      callCounts.set(cacheKey, count)
      for (const event of count === 0 ? answer : call) yield event
    },
  }
}

const CHUNK_LENGTH = 20
const eventUsage = { uncached: 100, cacheRead: 0, cacheWrite: 0, output: 50, reasoning: 0 }

function eventsOf(text: string): readonly ModelEvent[] {
  return [
    ...chunksOf(text).map((chunk) => ({ type: 'text.delta' as const, text: chunk })),
    { type: 'finish', finishReason: 'stop', modelName: 'steady', usage: eventUsage },
  ]
}

const chunksOf = (text: string): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / CHUNK_LENGTH) }, (_, index) => text.slice(index * CHUNK_LENGTH, (index + 1) * CHUNK_LENGTH))

/** The baseline: a minimal loop without Daybook. It parses the response, calls the tool and adds the result to the prompt. */
async function byHand(model: Model): Promise<number> {
  const { signal } = new AbortController()
  const parts: Part[] = [{ type: 'text', text: 'Add up.' }]
  const request: ModelRequest = {
    role: 'decision',
    system: '',
    parts,
    maxTokens: 1,
    temperature: 0,
    cacheKey: 'hand',
    read: async () => new Uint8Array(),
  }
  for (;;) {
    let raw = ''
    for await (const event of model.stream(request, signal)) if (event.type === 'text.delta') raw += event.text
    const action = JSON.parse(raw.slice(raw.indexOf('<channel:action>') + 16, raw.indexOf('</channel:action>')))
    if (action.action !== 'call_tool') return parts.length
    const outcome = await add.run(action.tool_call.params, {} as Call) // the tool does not read its second argument
    parts.push({ type: 'text', text: raw }, { type: 'text', text: JSON.stringify(outcome) })
  }
}

const settings = { maxRounds: 2_000, contextTokens: 1e9 }
const memoryStore = () => createMemoryStore({ blobs: createMemoryBlobs(), clock })
const agentOn = (store: ConversationStore, model: Model): Agent => createAgentFrom({ model, store, clock, tools: [add], settings })

/**
 * Compares rounds with rounds of the loop by hand. In the first two rows, both loops call a model that sends prepared events. In the last
 * row, both loops call the scripted model of `daybook/testing`, which itself takes about twice as long.
 */
async function roundInMemory(): Promise<void> {
  const prepared = await turnsOf(steadyModel(ROUNDS))
  const scripted = await turnsOf(repeatedScript(ROUNDS))
  report('round in memory', prepared.unwatched / prepared.byHand, 6.5, againstHand(prepared))
  const remark = 'each chunk is parsed and delivered by itself'
  report('round in memory, watched', prepared.watched / prepared.byHand, 6.5, `${micros(prepared.watched)}: ${remark}`)
  report('round in memory, scripted model', scripted.unwatched / scripted.byHand, 6.5, againstHand(scripted))
}

const ROUNDS = 50
const micros = (turn: number) => `${((turn * 1000) / ROUNDS).toFixed(1)} µs`
const againstHand = ({ unwatched, byHand }: TurnTimes) =>
  `against a hand-written loop; ${micros(unwatched)}, hand-written ${micros(byHand)}`

/** The shortest times of a turn in milliseconds: by hand, by the agent, and by the agent while a client watches. */
interface TurnTimes {
  readonly byHand: number
  readonly unwatched: number
  readonly watched: number
}

async function turnsOf(model: Model): Promise<TurnTimes> {
  let turns = 0
  const agent = agentOn(memoryStore(), model)
  const run = () => agent.run(`c${turns++}`, 'Add up.')
  const [hand, unwatched, watched] = await bests(1_000, [
    async () => void (await byHand(model)),
    async () => void (await run().result),
    async () => {
      for await (const _event of run());
    },
  ])
  return { byHand: hand, unwatched, watched }
}

/** Compares rounds in the dialect `native` with rounds in channels, with and without a client that watches. */
async function nativeRound(): Promise<void> {
  let turns = 0
  const agents = [agentOn(memoryStore(), steadyModel(ROUNDS)), agentOn(memoryStore(), steadyNativeModel(ROUNDS))] as const
  const run = (agent: Agent) => async () => void (await agent.run(`c${turns++}`, 'Add up.').result)
  const watch = (agent: Agent) => async () => {
    for await (const _event of agent.run(`c${turns++}`, 'Add up.'));
  }
  const [channels, native, watchedChannels, watchedNative] = (await bests(1_000, [...agents.map(run), ...agents.map(watch)])) as [
    number,
    number,
    number,
    number,
  ]
  report('native round', native / channels, 1.1, `against a round in channels; ${micros(native)} and ${micros(channels)}`)
  report('native round, watched', watchedNative / watchedChannels, 1.1, `${micros(watchedNative)} and ${micros(watchedChannels)}`)
}

/**
 * Compares rounds on disk with the same commits alone, which are made one directly after another. A commit within a round takes longer than
 * a commit that directly follows another one, so both times are printed.
 */
async function durableRound(): Promise<void> {
  await withSqlite(async (store) => {
    const rounds = 50
    let commits: (readonly Change[])[] = []
    let spent = 0
    const recordingStore: ConversationStore = {
      ...store,
      async append(claim, changes) {
        const started = performance.now()
        const entries = await store.append(claim, changes)
        spent += performance.now() - started
        commits.push(changes)
        return entries
      },
    }
    const agent = agentOn(recordingStore, steadyModel(rounds))
    let turns = 0
    let best = { ms: Number.POSITIVE_INFINITY, commit: 0 }
    const [alone] = await bests(16, [
      async () => {
        const claim = await store.claim(`alone${turns++}`, { id: 'bench', host: 'bench', pid: process.pid })
        for (const changes of commits) await store.append(claim, changes)
      },
      async () => {
        commits = []
        spent = 0
        const started = performance.now()
        await agent.run(`c${turns++}`, 'Add up.').result
        const ms = performance.now() - started
        if (ms < best.ms) best = { ms, commit: spent / commits.length }
      },
    ])
    const [round, commit] = [best.ms / rounds, alone / commits.length]
    const times = `${commit.toFixed(2)} ms; ${round.toFixed(2)} ms; a commit between rounds takes ${best.commit.toFixed(2)} ms`
    report('commits per round', commits.length / rounds, 2.5, `${commits.length} for ${rounds} rounds`)
    report('durable round', round / commit, 2.5, `against one commit among commits, ${times}`)
  })
}

async function withSqlite(work: (store: ConversationStore) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-bench-'))
  const store = await createSqliteStore({ file: join(folder, 'bench.sqlite'), blobs: await createFileBlobs({ folder }), clock })
  try {
    await work(store)
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The shortest time of each function in milliseconds, after a warm-up. The functions alternate, so that other load affects all of them. */
async function bests<const Works extends readonly (() => Promise<void>)[]>(
  takes: number,
  works: Works,
): Promise<{ readonly [W in keyof Works]: number }> {
  const least = works.map(() => Number.POSITIVE_INFINITY)
  for (let take = 0; take < 2 * takes; take++) {
    for (const [index, work] of works.entries()) {
      const started = performance.now()
      await work()
      if (take >= takes) least[index] = Math.min(least[index] as number, performance.now() - started)
    }
  }
  return least as { readonly [W in keyof Works]: number }
}

function report(what: string, ratio: number, budget: number, remark: string): void {
  console.log(`${what.padEnd(38)} ${ratio.toFixed(2)} × baseline  (budget ${budget})  ${ratio <= budget ? 'ok' : 'OVER'}  ${remark}`)
}
