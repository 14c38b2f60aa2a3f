// LangGraph.js with the agent of LangChain, as their documentation recommends. Sections: "LangChain: Agents" (createAgent), "Streaming"
// (streamMode messages), "Persistence" (MemorySaver, SqliteSaver, thread_id), "Durable execution" (the default durability, and resuming a
// thread with null as input), "Middleware: Dynamic system prompt", "Anthropic middleware: Prompt caching" (marks at the system text, the tools
// and the last message), "Custom chat models" (a class that extends BaseChatModel).

import { join } from 'node:path'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessageChunk } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import { MemorySaver } from '@langchain/langgraph'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { AIMessage, createAgent, dynamicSystemPromptMiddleware, HumanMessage, ToolMessage, tool } from 'langchain'
import { z } from 'zod'
import { play, roundOf, toolDescription, toolName } from '../script.ts'
import { openDatabase } from './node-sqlite.mjs'

export const imports = ['langchain', '@langchain/langgraph', '@langchain/core/messages', 'zod']

export async function open({ script, folder }) {
  const checkpointer = folder === undefined ? new MemorySaver() : new SqliteSaver(openDatabase(join(folder, 'checkpoints.sqlite')))
  const agent = createAgent({
    model: new ScriptedChatModel(script),
    tools: [
      tool(async (args) => script.run(args), {
        name: toolName,
        description: toolDescription,
        schema: z.object({ a: z.number(), b: z.number() }),
      }),
    ],
    checkpointer,
    ...(script.status === undefined
      ? { systemPrompt: script.instructions }
      : { middleware: [dynamicSystemPromptMiddleware(() => `${script.instructions}\n\n${script.status()}`)] }),
  })
  const configOf = (id) => ({ configurable: { thread_id: id }, recursionLimit: 4 * script.maxRounds + 10 })
  const run = async (id, input, onText) => {
    const stream = await agent.stream(input, { ...configOf(id), streamMode: 'messages' })
    for await (const [message] of stream) if (message.getType() === 'ai' && typeof message.content === 'string') onText?.(message.content)
  }
  return {
    turn: (id, text, onText) => run(id, { messages: [new HumanMessage(text)] }, onText),
    async seed(id, rounds) {
      const messages = [new HumanMessage('Add up.')]
      for (let n = 0; n < rounds; n++) {
        messages.push(new AIMessage({ content: 'Next.', tool_calls: [{ id: `s${n}`, name: toolName, args: { a: 1, b: 2 } }] }))
        messages.push(new ToolMessage({ tool_call_id: `s${n}`, name: toolName, content: '{"sum":3}' }))
      }
      messages.push(new AIMessage('Added up.'))
      await agent.graph.updateState(configOf(id), { messages })
    },
    resume: (id) => run(id, null),
    async close() {
      if (folder !== undefined) checkpointer.db.close()
    },
  }
}

class ScriptedChatModel extends BaseChatModel {
  constructor(script) {
    super({})
    this.script = script
  }
  _llmType() {
    return 'scripted'
  }
  bindTools() {
    return this
  }
  async _generate(messages, options, runManager) {
    let whole
    for await (const { message } of this._streamResponseChunks(messages, options, runManager)) whole = whole?.concat(message) ?? message
    return { generations: [{ text: '', message: new AIMessage({ content: whole.content, tool_calls: whole.tool_calls }) }] }
  }
  async *_streamResponseChunks(messages, _options, runManager) {
    this.script.onRequest?.(recordedRequest(messages))
    const response = this.script.respond(roundOf(messages, roleOf))
    for await (const text of play(this.script, response)) {
      yield new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) })
      await runManager?.handleLLMNewToken(text)
    }
    if (response.calls.length === 0) return
    const chunks = response.calls.map(({ id, args }, index) => ({
      id,
      index,
      name: toolName,
      args: JSON.stringify(args),
      type: 'tool_call_chunk',
    }))
    yield new ChatGenerationChunk({ text: '', message: new AIMessageChunk({ content: '', tool_call_chunks: chunks }) })
  }
}

function roleOf(message) {
  const type = message.getType()
  return type === 'human' ? 'user' : type === 'ai' ? 'assistant' : 'other'
}

/** The request as Anthropic's cache sees it, with the marks that the middleware for prompt caching sets. */
function recordedRequest(messages) {
  const system = messages.find((message) => message.getType() === 'system')
  const rest = messages.filter((message) => message !== system)
  const textOf = ({ content, tool_calls, tool_call_id }) => JSON.stringify({ content, tool_calls, tool_call_id })
  const parts = mergeResults(rest.map((message) => ({ text: textOf(message), isResult: message.getType() === 'tool' })))
  return {
    system: system?.text ?? '',
    isSystemMarked: true,
    parts: parts.map((text, index) => ({ text, isMarked: index === parts.length - 1 })),
  }
}

/** Consecutive results are the content of one message of Anthropic, and its search for a cached prefix counts them as one step. */
function mergeResults(parts) {
  const merged = []
  for (const [index, { text, isResult }] of parts.entries()) {
    if (isResult && parts[index - 1]?.isResult) merged[merged.length - 1] += text
    else merged.push(text)
  }
  return merged
}
