// OpenAI Agents SDK for TypeScript, as its documentation recommends. Sections: "Running agents" (run with stream), "Sessions"
// (MemorySession, and a custom class with the interface Session where a session has to be durable), "Agents: Dynamic instructions" (a
// function that is called for every model call), "Models: Custom model providers" (an object with the interface Model).

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, MemorySession, run, setTracingDisabled, tool } from '@openai/agents'
import { z } from 'zod'
import { play, roundOf, toolDescription, toolName } from '../script.ts'

export const imports = ['@openai/agents', 'zod']

setTracingDisabled(true) // tracing sends the texts of all turns to OpenAI

export async function open({ script, folder }) {
  const agent = new Agent({
    name: 'Adder',
    instructions: script.status === undefined ? script.instructions : () => `${script.instructions}\n\n${script.status()}`,
    model: createModel(script),
    tools: [
      tool({
        name: toolName,
        description: toolDescription,
        parameters: z.object({ a: z.number(), b: z.number() }),
        execute: async (args) => script.run(args),
      }),
    ],
  })
  const sessions = new Map()
  const sessionOf = (id) => {
    if (!sessions.has(id)) sessions.set(id, folder === undefined ? new MemorySession() : new FileSession(id, join(folder, `${id}.jsonl`)))
    return sessions.get(id)
  }
  return {
    async turn(id, text, onText) {
      const result = await run(agent, text, { stream: true, session: sessionOf(id), maxTurns: script.maxRounds })
      for await (const event of result) {
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') onText?.(event.data.delta)
      }
      await result.completed
    },
    async seed(id, rounds) {
      const items = [{ role: 'user', content: 'Add up.' }]
      for (let n = 0; n < rounds; n++) {
        items.push({ type: 'function_call', callId: `s${n}`, name: toolName, status: 'completed', arguments: '{"a":1,"b":2}' })
        const output = { type: 'text', text: '{"sum":3}' }
        items.push({ type: 'function_call_result', callId: `s${n}`, name: toolName, status: 'completed', output })
      }
      items.push({ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Added up.' }] })
      await sessionOf(id).addItems(items)
    },
    // A run can be continued from its RunState, but only if the program has stored this state while the run was interrupted for an
    // approval. The session of a killed process contains only the items of turns that had ended.
    resume: undefined,
    async close() {},
  }
}

/** A session that appends each item to a file. */
class FileSession {
  constructor(id, file) {
    this.id = id
    this.file = file
    this.items = existsSync(file)
      ? readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
      : []
  }
  async getSessionId() {
    return this.id
  }
  async getItems(limit) {
    return limit === undefined ? [...this.items] : this.items.slice(-limit)
  }
  async addItems(items) {
    this.items.push(...items)
    appendFileSync(this.file, items.map((item) => `${JSON.stringify(item)}\n`).join(''), { flush: true })
  }
  async popItem() {
    return this.items.pop()
  }
  async clearSession() {
    this.items = []
  }
}

const usage = { requests: 1, inputTokens: 100, outputTokens: 50, totalTokens: 150 }
let responseCount = 0

function createModel(script) {
  return {
    async getResponse() {
      throw new Error('the workloads stream')
    },
    async *getStreamedResponse({ systemInstructions, input }) {
      script.onRequest?.(recordedRequest(systemInstructions, input))
      const response = script.respond(roundOf(input, roleOf))
      yield { type: 'response_started' }
      let text = ''
      for await (const delta of play(script, response)) {
        text += delta
        yield { type: 'output_text_delta', delta }
      }
      const id = `response_${++responseCount}`
      const message = { id, type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }
      const calls = response.calls.map((call) => ({
        type: 'function_call',
        id: call.id,
        callId: call.id,
        name: toolName,
        status: 'completed',
        arguments: JSON.stringify(call.args),
      }))
      yield { type: 'response_done', response: { id, usage, output: [message, ...calls] } }
    },
  }
}

/** A message and the calls after it are one response. Responses without a message do not occur in the workloads. */
const roleOf = ({ type, role }) => (type === 'function_call' || type === 'function_call_result' ? 'other' : role)

/**
 * The request as an automatic prefix cache sees it. OpenAI needs no marks for this cache. The ids of items are left out, because a model
 * does not read them.
 */
function recordedRequest(system, input) {
  const parts = input.map(({ id: _id, status: _status, ...item }) => ({ text: JSON.stringify(item), isMarked: false }))
  return { system, isSystemMarked: false, parts }
}
