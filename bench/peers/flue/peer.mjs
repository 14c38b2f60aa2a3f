// Flue, as its documentation recommends. Pages: "Building agents: Standalone scripts" (start, init, dispatch, read with onEvent), "Tools"
// (defineTool), "Node.js" (sqlite), "Durability: Node.js recovery" (a new process continues accepted work by itself), "Provider API" (a
// custom provider of pi-ai), "Agent hooks: Instructions" (a status), "Routing" (createAgentRouter). Flue always has a store. Without a
// folder it is a database of SQLite in memory.

import { createServer } from 'node:http'
import { join } from 'node:path'
import { createAssistantMessageEventStream, createProvider } from '@earendil-works/pi-ai'
import { defineTool, init, useModel, useTool } from '@flue/runtime'
import { sqlite, start } from '@flue/runtime/node'
import { createAgentRouter } from '@flue/runtime/routing'
import { getRequestListener } from '@hono/node-server'
import * as v from 'valibot'
import { listen } from '../http.ts'
import { model, scriptedStream } from '../pi-model.mjs'
import { addingScript, toolDescription, toolName } from '../script.ts'

/**
 * Flue sends each change of the instructions to the model in a message. This message starts another model call, which changes the
 * instructions again, and so on without end.
 */
export const hasNoStatus = 'not possible'

export const imports = ['@flue/runtime', '@flue/runtime/node', 'valibot']

export async function open({ script: givenScript, folder }) {
  let script = givenScript
  const stream = (...request) => scriptedStream(script, createAssistantMessageEventStream)(...request)
  const auth = { apiKey: { name: 'none', resolve: async () => ({ auth: {} }) } }
  const provider = createProvider({ id: model.provider, name: 'scripted', auth, models: [model], api: { stream, streamSimple: stream } })
  const add = defineTool({
    name: toolName,
    description: toolDescription,
    input: v.object({ a: v.number(), b: v.number() }),
    run: async ({ data }) => ({ output: await script.run(data) }),
  })
  function Adder() {
    useModel(`${model.provider}/${model.id}`, { compaction: false })
    useTool(add)
    return script.instructions
  }
  const flue = await start({
    agents: [Adder],
    providers: [provider],
    ...(folder !== undefined && { db: sqlite(join(folder, 'flue.db')) }),
  })
  const turn = async (id, text, onText) => {
    const handle = init(Adder, { id })
    const receipt = await handle.dispatch(text)
    await handle.read(receipt, {
      onEvent: (event) => {
        if (event.type === 'message-delta') onText?.(event.delta)
      },
    })
  }
  return {
    turn,
    // Flue has no function that adds messages of other programs to a conversation, so the agent runs the rounds with another script.
    async seed(id, rounds) {
      script = addingScript(rounds + 1)
      await turn(id, 'Add up.')
      script = givenScript
    },
    // When the lease of the killed process has ended, the runtime continues accepted work by itself. No call is needed.
    async resume(id) {
      for (;;) {
        const snapshot = await (await createAgentRouter(Adder).request(`/${id}`)).json()
        if (snapshot.settlements?.length > 0) return
        await new Promise((resolve) => setTimeout(resolve, 200))
      }
    },
    serve: () => listen(createServer(getRequestListener(createAgentRouter(Adder).fetch))),
    close: () => flue.stop(),
  }
}

/** Sends one message, and reads the events of the conversation until the conversation is settled. */
export async function ask(base, conversation, text) {
  const body = JSON.stringify({ kind: 'user', body: text })
  const sent = await fetch(`${base}/${conversation}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { offset } = await sent.json()
  const reading = new AbortController()
  const events = await fetch(`${base}/${conversation}?view=updates&live=sse&offset=${offset}`, { signal: reading.signal })
  let received = ''
  for await (const bytes of events.body.pipeThrough(new TextDecoderStream())) {
    received += bytes
    if (received.includes('"submission-settled"')) break
  }
  reading.abort()
  if (!received.includes('"completed"')) throw new Error(`the turn ended with ${received.slice(-200)}`)
}
