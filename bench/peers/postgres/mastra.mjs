// An agent with a tool and the PostgreSQL store of Mastra. The model is a function, so only the runtime is measured.

import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { Memory } from '@mastra/memory'
import { PostgresStore } from '@mastra/pg'
import { z } from 'zod'
import { measure, randomText } from './measure.mjs'

const input = JSON.parse(process.argv[2])
const { url, rounds, thought, result } = input
const usage = { inputTokens: 100, outputTokens: 50, totalTokens: 150 }
let count = 0
const next = () => {
  count = (count + 1) % rounds
  return count === 0 ? undefined : { id: `call_${count}_${Math.random()}`, args: JSON.stringify({ n: count }) }
}
const model = {
  specificationVersion: 'v2',
  provider: 'bench',
  modelId: 'steady',
  supportedUrls: {},
  async doGenerate() {
    const call = next()
    const text = { type: 'text', text: call ? randomText(thought) : 'Done.' }
    const content = call ? [text, { type: 'tool-call', toolCallId: call.id, toolName: 'more', input: call.args }] : [text]
    return { content, finishReason: call ? 'tool-calls' : 'stop', usage, warnings: [] }
  },
  async doStream() {
    const { content, finishReason } = await this.doGenerate()
    const parts = [{ type: 'stream-start', warnings: [] }]
    for (const part of content) {
      if (part.type === 'tool-call') parts.push(part)
      else parts.push({ type: 'text-start', id: '1' }, { type: 'text-delta', id: '1', delta: part.text }, { type: 'text-end', id: '1' })
    }
    return { stream: ReadableStream.from([...parts, { type: 'finish', finishReason, usage }]) }
  },
}
const more = createTool({
  id: 'more',
  description: 'Lists more.',
  inputSchema: z.object({ n: z.number() }),
  outputSchema: z.object({ n: z.number(), text: z.string() }),
  execute: async ({ n }) => ({ n, text: randomText(result) }),
})
const storage = new PostgresStore({ id: 'bench', connectionString: url })
await storage.init()
const memory = new Memory({ storage, options: { lastMessages: 20 } })
const agent = new Agent({ id: 'bench', name: 'bench', instructions: 'List.', model, tools: { more }, memory })
await measure(input, () => agent.generate('List.', { memory: { thread: 'c', resource: 'u' }, maxSteps: rounds + 1 }))
