// AI SDK, as its documentation recommends. Sections: "Agents: Building Agents" (ToolLoopAgent, stopWhen), "AI SDK UI: Chatbot Message
// Persistence" (the whole list of messages is written when a turn has ended), "Cookbook: Dynamic Prompt Caching" (prepareStep marks the last
// message), "Loop Control" (prepareStep changes the system text for a step).

import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { isStepCount, pipeUIMessageStreamToResponse, ToolLoopAgent, tool, toUIMessageStream } from 'ai'
import { z } from 'zod'
import { listen } from '../http.ts'
import { play, roundOf, toolDescription, toolName } from '../script.ts'

export const imports = ['ai', 'zod']

const cacheMark = { anthropic: { cacheControl: { type: 'ephemeral' } } }

export async function open({ script, folder }) {
  const agent = new ToolLoopAgent({
    model: createModel(script),
    instructions: { role: 'system', content: script.instructions, providerOptions: cacheMark },
    tools: {
      [toolName]: tool({
        description: toolDescription,
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: async (args) => script.run(args),
      }),
    },
    stopWhen: isStepCount(script.maxRounds),
    ...(script.onRequest && { prepareStep: prepareStep(script) }),
  })
  const conversations = new Map()
  const fileOf = (id) => join(folder, `${id}.json`)
  const load = async (id) => {
    if (!conversations.has(id)) {
      const stored = folder !== undefined && existsSync(fileOf(id)) ? JSON.parse(await readFile(fileOf(id), 'utf8')) : []
      conversations.set(id, stored)
    }
    return conversations.get(id)
  }
  const start = async (id, text) => {
    const messages = await load(id)
    messages.push({ role: 'user', content: text })
    const result = await agent.stream({ messages })
    const end = async () => {
      messages.push(...(await result.responseMessages))
      if (folder !== undefined) await writeFile(fileOf(id), JSON.stringify(messages))
    }
    return { result, end }
  }
  return {
    async turn(id, text, onText) {
      const { result, end } = await start(id, text)
      for await (const part of result.stream) if (part.type === 'text-delta') onText?.(part.text)
      await end()
    },
    async seed(id, rounds) {
      const messages = await load(id)
      messages.push({ role: 'user', content: 'Add up.' })
      for (let n = 0; n < rounds; n++) {
        const call = { toolCallId: `s${n}`, toolName }
        messages.push({ role: 'assistant', content: [{ type: 'tool-call', ...call, input: { a: 1, b: 2 } }] })
        messages.push({ role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'json', value: { sum: 3 } } }] })
      }
      messages.push({ role: 'assistant', content: 'Added up.' })
    },
    // The file contains only the messages of turns that have ended. The turn of a killed process is missing, so the user has to send the
    // message again.
    resume: undefined,
    async serve() {
      const server = createServer(async (request, response) => {
        const { conversation, text } = JSON.parse(await readBody(request))
        const { result, end } = await start(conversation, text)
        pipeUIMessageStreamToResponse({ response, stream: toUIMessageStream({ stream: result.stream }) })
        await end()
      })
      return listen(server)
    },
    async close() {},
  }
}

async function readBody(request) {
  let body = ''
  for await (const chunk of request) body += chunk
  return body
}

/**
 * Marks the last message of a step. Earlier marks are removed, because the messages of a step include the marked messages of the step
 * before.
 */
const prepareStep =
  (script) =>
  ({ messages }) => {
    const marked = messages.map(({ providerOptions, ...message }, index) =>
      index === messages.length - 1 ? { ...message, providerOptions: { ...providerOptions, ...cacheMark } } : message,
    )
    if (script.status === undefined) return { messages: marked }
    const content = `${script.instructions}\n\n${script.status()}`
    return { messages: marked, instructions: { role: 'system', content, providerOptions: cacheMark } }
  }

const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 50, text: 50, reasoning: 0 },
}
const finish = (unified) => ({ type: 'finish', finishReason: { unified, raw: unified }, usage })

function createModel(script) {
  return {
    specificationVersion: 'v4',
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
  yield finish(response.calls.length > 0 ? 'tool-calls' : 'stop')
}

/** The request as Anthropic's cache sees it. A mark of a message is a mark of its last part. */
function recordedRequest(prompt) {
  const isMarked = (message) => message?.providerOptions?.anthropic?.cacheControl !== undefined
  const system = prompt.find(({ role }) => role === 'system')
  const parts = prompt
    .filter((message) => message !== system)
    .map((message) => ({ text: JSON.stringify(message.content), isMarked: isMarked(message) }))
  return { system: system?.content ?? '', isSystemMarked: isMarked(system), parts }
}
