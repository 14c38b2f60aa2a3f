// Mastra, as its documentation recommends. Sections: "Agents: Overview" (Agent, stream), "Using tools" (createTool), "Memory: Overview" and
// "Storage" (Memory with LibSQLStore; `:memory:` where nothing has to be durable), "Message history" (lastMessages), "Agents: Provider options"
// (a system message with a cache mark), "Processors" (processInputStep changes the messages of a step).

import { join } from 'node:path'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { createTool } from '@mastra/core/tools'
import { LibSQLStore } from '@mastra/libsql'
import { Memory } from '@mastra/memory'
import { z } from 'zod'
import { play, roundOf, toolDescription, toolName } from '../script.ts'

export const imports = ['@mastra/core/agent', '@mastra/core/mastra', '@mastra/core/tools', '@mastra/libsql', '@mastra/memory', 'zod']

const providerOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

export async function open({ script, folder }) {
  const storage = new LibSQLStore({ id: 'bench', url: folder === undefined ? ':memory:' : `file:${join(folder, 'mastra.db')}` })
  const adder = new Agent({
    id: 'adder',
    name: 'Adder',
    instructions: { role: 'system', content: script.instructions, providerOptions },
    model: createModel(script),
    tools: {
      [toolName]: createTool({
        id: toolName,
        description: toolDescription,
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: async (args) => script.run(args),
      }),
    },
    // By default Mastra sends the last 10 messages. The other frameworks send the whole history, so Mastra is configured to do the same.
    memory: new Memory({ storage, options: { lastMessages: 1_000_000 } }),
    ...(script.status && { inputProcessors: [statusProcessor(script)] }),
  })
  const mastra = new Mastra({ agents: { adder }, storage, logger: false })
  const agent = mastra.getAgent('adder')
  return {
    async turn(id, text, onText) {
      const output = await agent.stream(text, { memory: { thread: id, resource: 'user' }, maxSteps: script.maxRounds })
      for await (const chunk of output.fullStream) {
        if (chunk.type === 'error') throw chunk.payload.error
        if (chunk.type === 'text-delta') onText?.(chunk.payload.text)
      }
    },
    async seed(id, rounds) {
      const memory = await agent.getMemory()
      await memory.createThread({ threadId: id, resourceId: 'user' })
      const at = Date.now() - 10 * rounds
      const save = { threadId: id, resourceId: 'user' }
      const messages = [
        {
          ...save,
          id: `${id}-u`,
          role: 'user',
          createdAt: new Date(at - 10),
          content: { format: 2, parts: [{ type: 'text', text: 'Add up.' }] },
        },
      ]
      for (let n = 0; n < rounds; n++) {
        const call = { state: 'result', toolCallId: `s${n}`, toolName, args: { a: 1, b: 2 }, result: { sum: 3 } }
        const content = { format: 2, parts: [{ type: 'tool-invocation', toolInvocation: call }] }
        messages.push({ ...save, id: `${id}-${n}`, role: 'assistant', createdAt: new Date(at + 5 * n), content })
      }
      await memory.saveMessages({ messages })
    },
    // Mastra stores the messages of a turn in its memory only when the turn has ended. A run can be resumed only from a point at which it
    // was suspended.
    resume: undefined,
    async close() {
      await mastra.shutdown?.()
    },
  }
}

const statusProcessor = (script) => ({
  id: 'status',
  processInputStep: ({ systemMessages }) => ({
    systemMessages: [...systemMessages, { role: 'system', content: script.status() }],
  }),
})

const usage = { inputTokens: 100, outputTokens: 50, totalTokens: 150 }

function createModel(script) {
  return {
    specificationVersion: 'v2',
    provider: 'anthropic.messages',
    modelId: 'claude-scripted',
    supportedUrls: {},
    async doGenerate() {
      throw new Error('the workloads stream')
    },
    async doStream({ prompt }) {
      script.onRequest?.(recordedRequest(prompt))
      const response = script.respond(roundOf(prompt, ({ role }) => (role === 'user' || role === 'assistant' ? role : 'other')))
      return { stream: ReadableStream.from(parts(script, response)) }
    },
  }
}

async function* parts(script, response) {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'text-start', id: '1' }
  for await (const delta of play(script, response)) yield { type: 'text-delta', id: '1', delta }
  yield { type: 'text-end', id: '1' }
  for (const { id, args } of response.calls) {
    yield { type: 'tool-call', toolCallId: id, toolName, input: JSON.stringify(args) }
  }
  yield { type: 'finish', finishReason: response.calls.length > 0 ? 'tool-calls' : 'stop', usage }
}

/** The request as Anthropic's cache sees it. All system messages together are the system text. */
function recordedRequest(prompt) {
  const isMarked = (message) => message.providerOptions?.anthropic?.cacheControl !== undefined
  const systems = prompt.filter(({ role }) => role === 'system')
  const messages = prompt.filter(({ role }) => role !== 'system')
  const asPart = (message) => ({ text: JSON.stringify(message.content), isMarked: isMarked(message) })
  return {
    system: systems[0]?.content ?? '',
    isSystemMarked: isMarked(systems[0] ?? {}),
    parts: [...systems.slice(1), ...messages].map(asPart),
  }
}
