// Daybook, as its documentation recommends. Pages: "The SDK" (createAgent, defineTool, openStore, announce, recover), "A server in your
// application" (createHandler), "Testing" (replies in the dialect of channels, which Daybook uses with Anthropic, OpenAI and Google).

import { createServer } from 'node:http'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { createAgent, defineTool, openStore } from 'daybook'
import { createHandler } from 'daybook/server'
import { reply } from 'daybook/testing'
import { z } from 'zod'
import { listen } from '../http.ts'
import { addingScript, chunksOf, play, roundOf, toolDescription, toolName } from '../script.ts'

export const imports = ['daybook', 'zod']

const toolId = `sum.${toolName}`

export async function open({ script, folder }) {
  let seeded
  const add = defineTool({
    id: toolId,
    description: toolDescription,
    params: z.object({ a: z.number(), b: z.number() }),
    parallel: true,
    run: (args) => (seeded ?? script).run(args),
  })
  const { status } = script
  const store = folder === undefined ? undefined : await openStore({ data: join(folder, 'daybook') })
  const agent = createAgent({
    model: createModel(() => seeded ?? script),
    instructions: script.instructions,
    tools: [add],
    ...(store && { store }),
    ...(status && { announce: () => [{ title: 'STATUS', text: status() }] }),
    // The other frameworks send the whole history, so this agent summarises nothing.
    settings: { maxRounds: script.maxRounds, contextTokens: 1e9 },
  })
  const run = async (id, text, onText) => {
    const turn = agent.run(id, text)
    for await (const event of turn) if (event.type === 'lane.delta') onText?.(event.delta.text)
    const { exitReason } = await turn.result
    if (exitReason !== 'complete') throw new Error(`the turn ended with ${exitReason}`)
  }
  return {
    turn: run,
    // Daybook has no function that adds messages of other programs to a conversation, so the agent runs the rounds with another script.
    async seed(id, rounds) {
      seeded = addingScript(rounds + 1)
      await agent.run(id, 'Add up.', { maxRounds: rounds + 2 }).result
      seeded = undefined
    },
    async resume() {
      // The turn can be continued only after the lease of the killed process has ended. Until then, `recover` returns the conversation in
      // `skipped`.
      for (;;) {
        const { skipped } = await agent.recover()
        if (skipped.length === 0) return
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    },
    // All clients of the workload are one user, so the limits of one user are raised.
    serve: () =>
      listen(createServer(getRequestListener(createHandler(agent, { requestsPerMinute: 1e9, turnsPerMinute: 1e9, runningTurns: 1e6 })))),
    async close() {
      await agent.close()
      await store?.close()
    },
  }
}

/** Runs one turn over HTTP, in the format that sends a message and streams the answer in one request. */
export async function ask(base, conversation, text) {
  const message = { id: `m${Math.random()}`, role: 'user', parts: [{ type: 'text', text }] }
  const response = await fetch(`${base}/v1/conversations/${conversation}/ui-message`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: conversation, messages: [message], trigger: 'submit-message' }),
  })
  const events = await response.text()
  if (response.status === 503) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers.get('retry-after') ?? 1)))
    return ask(base, conversation, text)
  }
  if (!response.ok || !events.includes('"finish"')) throw new Error(`the server answered ${response.status}: ${events.slice(0, 200)}`)
}

const usage = { uncached: 100, cacheRead: 0, cacheWrite: 0, output: 50, reasoning: 0 }
const finish = { type: 'finish', finishReason: 'stop', modelName: 'steady', usage }
const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Sums"}</channel:output>'

function createModel(scriptNow) {
  const rounds = new Map()
  return {
    name: 'steady',
    window: 2e9,
    async *stream(request) {
      const script = scriptNow()
      if (request.role === 'gate') {
        for await (const text of play(script, { chunks: chunksOf(title) })) yield { type: 'text.delta', text }
        return yield finish
      }
      script.onRequest?.({
        system: request.system,
        isSystemMarked: true,
        parts: request.parts.map(({ text, cache }) => ({ text, isMarked: cache === true })),
      })
      const round = rounds.get(request.cacheKey) ?? roundOf(request.parts, roleOf)
      const response = script.respond(round)
      if (response.calls.length === 0) rounds.delete(request.cacheKey)
      else rounds.set(request.cacheKey, round + 1)
      for await (const text of play(script, { chunks: channelsOf(response) })) yield { type: 'text.delta', text }
      yield finish
    },
  }
}

/** The role of a part of the prompt. A process that continues a turn uses it to count the calls in its first prompt. */
function roleOf({ text = '' }) {
  if (text.startsWith('[USER MESSAGE]')) return 'user'
  return text.startsWith('[TOOL CALL') ? 'assistant' : 'other'
}

/** A response in the text form that models write in the dialect of channels, cut into pieces of the same size. */
function channelsOf({ chunks, calls }) {
  const text = chunks.join('')
  if (calls.length === 0) return chunksOf(reply.answer(text))
  if (calls.length === 1) return chunksOf(reply.call(toolId, calls[0].args, { thinking: text }))
  return chunksOf(
    reply.calls(
      calls.map(({ args }) => [toolId, args]),
      { thinking: text },
    ),
  )
}
