import { setTimeout as sleep } from 'node:timers/promises'
import { defineTool, type Model, type ModelEvent, type ModelRequest } from 'daybook'
import { z } from 'zod'

/** How many characters each chunk of a response has. */
export const CHUNK_LENGTH = 20
const usage = { uncached: 100, cacheRead: 0, cacheWrite: 0, output: 50, reasoning: 0 }

/** The events of a response: its text in chunks, and the end. */
export const eventsOf = (text: string): readonly ModelEvent[] => [
  ...Array.from({ length: Math.ceil(text.length / CHUNK_LENGTH) }, (_, n) => ({
    type: 'text.delta' as const,
    text: text.slice(n * CHUNK_LENGTH, (n + 1) * CHUNK_LENGTH),
  })),
  { type: 'finish', finishReason: 'stop', modelName: 'steady', usage },
]

const THINKING = 'The next number is added to what is there already. '
const thought = (length: number) =>
  `<channel:thinking>${THINKING.repeat(Math.ceil(length / THINKING.length)).slice(0, length)}</channel:thinking>\n`
const callOf = (thinking: number): readonly ModelEvent[] =>
  eventsOf(
    `${thought(thinking)}<channel:action>{"action":"call_tool","notes":"","tool_call":{"tool_id":"sum.add","params":{"a":1,"b":2}}}</channel:action>`,
  )
/** A response with an answer. */
export const answerOf = (text: string): readonly ModelEvent[] =>
  eventsOf(`${thought(50)}<channel:action>{"action":"complete"}</channel:action>\n<channel:answer>${text}</channel:answer>`)
const title = eventsOf('<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Sums"}</channel:output>')

/** What `steadyModel` does. */
export interface SteadyOptions {
  /** How many rounds a turn has. All but the last call the tool. */
  readonly rounds: number
  readonly answer?: readonly ModelEvent[]
  /** How many characters the thinking of a round has. */
  readonly thinking?: number
  /** How long the model waits before a response. */
  readonly latencyMs?: number
  /** How long the model waits before each chunk. */
  readonly paceMs?: number
  /** Called when the model gets the request of a round. */
  readonly onRequest?: (request: ModelRequest) => void
}

/** A model that calls a tool in each round but the last, in which it answers. */
export function steadyModel(options: SteadyOptions): Model {
  const { rounds, answer = answerOf('Added up.'), thinking = 50, latencyMs, paceMs, onRequest } = options
  const call = callOf(thinking)
  const counts = new Map<string, number>()
  return {
    name: 'steady',
    window: 1e9,
    async *stream(request) {
      if (request.role === 'gate') return yield* title
      onRequest?.(request)
      const count = ((counts.get(request.cacheKey) ?? 0) + 1) % rounds
      counts.set(request.cacheKey, count)
      if (latencyMs !== undefined) await sleep(latencyMs)
      for (const event of count === 0 ? answer : call) {
        if (paceMs !== undefined) await sleep(paceMs)
        yield event
      }
    },
  }
}

/** The tool that the model calls. Its result is short. */
export const addTool = defineTool({
  id: 'sum.add',
  description: 'Adds.',
  params: z.object({ a: z.number(), b: z.number() }),
  repeatable: true,
  run: ({ a, b }) => ({ sum: a + b }),
})

export const settings = { maxRounds: 1e6, contextTokens: 1e9 }

/** A message of the hand-written loop. */
export interface Message {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly text: string
}

/**
 * The floor of all measurements: a loop without Daybook. It reads the response, runs the tool, keeps the messages, and yields each chunk and
 * each message to a caller that watches.
 */
export async function* handWritten(model: Model, key: string, messages: Message[]): AsyncGenerator<string | Message> {
  const { signal } = new AbortController()
  for (;;) {
    const parts = messages.map(({ text }) => ({ type: 'text' as const, text }))
    let raw = ''
    const request = { role: 'decision', system: '', parts, maxTokens: 1, temperature: 0, cacheKey: key, read: async () => new Uint8Array() }
    for await (const event of model.stream(request as ModelRequest, signal)) {
      if (event.type !== 'text.delta') continue
      raw += event.text
      yield event.text
    }
    yield keep(messages, { role: 'assistant', text: raw })
    const action = JSON.parse(raw.slice(raw.indexOf('<channel:action>') + 16, raw.indexOf('</channel:action>')))
    if (action.action !== 'call_tool') return
    const { a, b } = action.tool_call.params
    yield keep(messages, { role: 'tool', text: JSON.stringify({ sum: a + b }) })
  }
}

function keep(messages: Message[], message: Message): Message {
  messages.push(message)
  return message
}
