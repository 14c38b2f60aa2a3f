import { z } from 'zod'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { Model, ModelRequest } from '../../src/ports/model.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { succeeded } from '../../src/tools/outcome.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { createAgent } from '../../src/wiring/agent.ts'
import { eventsOf } from '../watched/programs/steady-model.ts'
import { type Growth, microsFor, readAll } from './measure.ts'

const settings = { maxRounds: 1e6, contextTokens: 1e9 }

type Respond = (round: number, request: ModelRequest) => string

/** A model whose response to the round `n` of a turn of `rounds` rounds is `respond(n)`. In the last round it answers. */
function modelWith(rounds: number, respond: Respond): Model {
  let count = 0
  return {
    name: 'growth',
    window: 1e9,
    async *stream(request) {
      if (request.role === 'gate') return yield* eventsOf('<channel:output>{"conversation_title":"Growth"}</channel:output>')
      const round = count++ % rounds
      yield* eventsOf(round === rounds - 1 ? reply.answer('Done.') : respond(round, request))
    },
  }
}

const toolWith = (run: (n: number) => unknown): Tool =>
  defineTool({
    id: 'grow.more',
    description: 'Gives more.',
    params: z.object({ n: z.number() }),
    repeatable: true,
    run: ({ n }) => run(n),
  })
const callOf = (n: number) => reply.call('grow.more', { n })

/** The microseconds of a turn with `rounds` rounds in a new conversation. Each round has one call, and a caller reads the events. */
async function turnMicros(rounds: number, tool: Tool, respond: Respond = callOf): Promise<number> {
  const agent = createAgent({ model: modelWith(rounds, respond), tools: [tool], settings })
  const micros = await microsFor(rounds, () => readAll(agent.run('c', 'Go.')))
  await agent.close()
  return micros
}

/** Calls the tool, and hides its result in the next round. It finds the path of the result in the prompt. */
function hideEverySecond(round: number, { parts }: ModelRequest): string {
  if (round % 2 === 0) return callOf(round)
  const path = parts.map((part) => (part.type === 'text' ? /\btc:\S+\.result\b/.exec(part.text)?.[0] : undefined)).findLast(Boolean)
  return reply.call('react.hide', { path, replacement_text: 'seen' })
}

/** The measurements of a turn: with more and more rounds, sources, results, hidden blocks, tools, or followers. */
export const growthOfTurns: readonly Growth[] = [
  {
    what: 'rounds in a turn',
    smallest: 20,
    cost: (rounds) =>
      turnMicros(
        rounds,
        toolWith(() => ({ ok: 1 })),
      ),
  },
  {
    what: 'turns in a conversation, all visible',
    smallest: 20,
    takes: 2,
    async cost(turns) {
      const agent = createAgent({ model: modelWith(2, callOf), tools: [toolWith(() => ({ ok: 1 }))], settings })
      for (let n = 0; n < turns; n++) await agent.run('c', 'Go.').result
      const micros = await microsFor(20, async () => {
        for (let n = 0; n < 20; n++) await readAll(agent.run('c', 'Go.'))
      })
      await agent.close()
      return micros
    },
  },
  {
    what: 'sources, one for each round',
    smallest: 20,
    cost: (rounds) =>
      turnMicros(
        rounds,
        toolWith((n) =>
          succeeded({ output: 'Found.', sources: [{ title: `Page ${n}`, url: `https://page.example/${n}`, text: 'Text.' }] }),
        ),
      ),
  },
  {
    what: 'hides, one for each two rounds',
    smallest: 20,
    takes: 2,
    cost: (rounds) =>
      turnMicros(
        rounds,
        toolWith((n) => `Result ${n}`),
        hideEverySecond,
      ),
  },
  {
    what: 'characters of a result, 10 results',
    smallest: 1_000,
    unit: ' per 1,000 characters',
    async cost(length) {
      const text = 'Some words of a long result, line by line.\n'.repeat(Math.ceil(length / 43)).slice(0, length)
      const [short, long] = [
        await turnMicros(
          11,
          toolWith(() => 'x'),
        ),
        await turnMicros(
          11,
          toolWith((n) => `${n} ${text}`),
        ),
      ]
      return (Math.max(1, long - short) * 1_000) / length
    },
  },
  {
    what: 'tools, a round of a running agent',
    smallest: 10,
    unit: ' per round',
    async cost(count) {
      const tools = Array.from({ length: count }, (_, n) =>
        defineTool({ id: `grow.t${n}`, description: 'A tool.', params: z.object({ n: z.number() }), run: () => 1 }),
      )
      const agent = createAgent({ model: modelWith(20, (n) => reply.call('grow.t1', { n })), tools, settings })
      await readAll(agent.run('first', 'Go.'))
      const micros = await microsFor(20, () => readAll(agent.run('c', 'Go.')))
      await agent.close()
      return micros
    },
  },
  {
    what: 'tools, from createAgent to the end of the first turn',
    smallest: 10,
    unit: ' per tool',
    async cost(count) {
      const tools = Array.from({ length: count }, (_, n) =>
        defineTool({ id: `grow.t${n}`, description: 'A tool.', params: z.object({ n: z.number() }), run: () => 1 }),
      )
      let agent: Agent | undefined
      const micros = await microsFor(count, () => {
        agent = createAgent({ model: modelWith(1, callOf), tools, settings })
        return readAll(agent.run('c', 'Go.'))
      })
      await agent?.close()
      return micros
    },
  },
  {
    what: 'followers of a turn of 20 rounds',
    smallest: 10,
    unit: ' per follower',
    async cost(followers) {
      const agent = createAgent({ model: modelWith(20, callOf), tools: [toolWith(() => ({ ok: 1 }))], settings })
      await agent.archive.create('c')
      const end = new AbortController()
      const following = Array.from({ length: followers }, () => followUntilClosed(agent.follow('c', { signal: end.signal })))
      const micros = await microsFor(followers, () => Promise.all([readAll(agent.run('c', 'Go.')), ...following]))
      end.abort()
      await agent.close()
      return micros
    },
  },
]

async function followUntilClosed(events: AsyncIterable<{ readonly type: string }>): Promise<void> {
  for await (const event of events) if ('change' in event && (event.change as { type: string }).type === 'turn.closed') return
}
