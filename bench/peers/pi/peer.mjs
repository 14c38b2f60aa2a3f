// pi (pi-agent-core and pi-ai), as its documentation recommends. Sections of the README of pi-agent-core: "Quick Start" and "Agent Options" (the
// class Agent, streamFn), "Event Types" (subscribe), "Core Concepts: Message Flow" (transformContext adds context to a request). Where a session
// has to be durable: AgentHarness with JsonlSessionRepo, which its types describe, and the method resume of a lane.

import { join } from 'node:path'
import { Agent, AgentHarness, BACKGROUND_CONTEXT, JsonlSessionRepo } from '@earendil-works/pi-agent-core'
import { NodeExecutionEnv } from '@earendil-works/pi-agent-core/node'
import { createAssistantMessageEventStream, createModels, createProvider, Type } from '@earendil-works/pi-ai'
import { model, scriptedStream } from '../pi-model.mjs'
import { toolDescription, toolName } from '../script.ts'

export const imports = ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai']

const parameters = Type.Object({ a: Type.Number(), b: Type.Number() })
const asResult = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }], details: {} })

export async function open({ script, folder }) {
  const stream = scriptedStream(script, createAssistantMessageEventStream)
  return folder === undefined ? openInMemory(script, stream) : openDurable(script, stream, folder)
}

function openInMemory(script, streamFn) {
  const agents = new Map()
  const agentOf = (id) => {
    if (!agents.has(id)) {
      const tool = { name: toolName, label: 'Add', description: toolDescription, parameters }
      const agent = new Agent({
        initialState: {
          systemPrompt: script.instructions,
          model,
          tools: [{ ...tool, execute: async (_id, args) => asResult(await script.run(args)) }],
        },
        streamFn,
        ...(script.status && { transformContext: async (messages) => [...messages, statusMessage(script)] }),
      })
      agents.set(id, agent)
    }
    return agents.get(id)
  }
  return {
    async turn(id, text, onText) {
      const agent = agentOf(id)
      const unsubscribe = agent.subscribe((event) => {
        if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta')
          onText?.(event.assistantMessageEvent.delta)
      })
      await agent.prompt(text)
      unsubscribe()
      if (agent.state.errorMessage) throw new Error(agent.state.errorMessage)
    },
    async seed(id, rounds) {
      const { state } = agentOf(id)
      const timestamp = Date.now()
      state.messages.push({ role: 'user', content: 'Add up.', timestamp })
      const { api, provider, id: modelId } = model
      const usage = {
        input: 0,
        output: 0,
        cacheRead: 0,
        cacheWrite: 0,
        totalTokens: 0,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      }
      const assistant = { role: 'assistant', api, provider, model: modelId, usage, timestamp }
      for (let n = 0; n < rounds; n++) {
        const call = { type: 'toolCall', id: `s${n}`, name: toolName, arguments: { a: 1, b: 2 } }
        state.messages.push({ ...assistant, content: [call], stopReason: 'toolUse' })
        state.messages.push({ role: 'toolResult', toolCallId: `s${n}`, toolName, ...asResult({ sum: 3 }), isError: false, timestamp })
      }
      state.messages.push({ ...assistant, content: [{ type: 'text', text: 'Added up.' }], stopReason: 'stop' })
    },
    async close() {},
  }
}

const statusMessage = (script) => ({ role: 'user', content: script.status(), timestamp: Date.now() })

async function openDurable(script, stream, folder) {
  const context = BACKGROUND_CONTEXT
  const models = createModels()
  const auth = { apiKey: { name: 'none', resolve: async () => ({ auth: {} }) } }
  models.setProvider(createProvider({ id: model.provider, name: 'scripted', auth, models: [model], api: { stream, streamSimple: stream } }))
  const harnesses = new Map()
  const create = async (id) => {
    // Each session has a folder of its own. A repository lists its folder when a session is created, and fails if another session is
    // created in the folder meanwhile.
    const repository = new JsonlSessionRepo({ fileSystem: new NodeExecutionEnv({ cwd: folder }), sessionsRoot: join(folder, id) })
    const [stored] = await repository.list(undefined, context)
    const session = stored ? await repository.open(stored, context) : await repository.create({ id, cwd: folder }, context)
    const tool = { name: toolName, label: 'Add', description: toolDescription, parameters }
    const { harness } = await AgentHarness.create(
      {
        session,
        models,
        model,
        systemPrompt: script.instructions,
        tools: [{ ...tool, execute: async (_id, args) => asResult(await script.run(args)) }],
      },
      context,
    )
    return { repository, harness, lane: await harness.lane('main', context) }
  }
  const laneOf = (id) => {
    if (!harnesses.has(id)) harnesses.set(id, create(id))
    return harnesses.get(id)
  }
  return {
    async turn(id, text, onText) {
      const { harness, lane } = await laneOf(id)
      const unsubscribe = harness.events.on('message_update', ({ event }) => {
        if (event.type === 'text_delta') onText?.(event.delta)
      })
      const result = await lane.prompt(text, undefined, context)
      unsubscribe()
      checkRun(result)
    },
    async seed() {
      throw new Error('the workload with a long history runs in memory')
    },
    async resume(id) {
      const { lane } = await laneOf(id)
      checkRun(await lane.resume(context))
    },
    async close() {
      for (const each of harnesses.values()) {
        const { harness, repository } = await each
        await harness.close(context)
        await repository.close(context)
      }
    },
  }
}

function checkRun(result) {
  const record = result.value ?? result
  if (record.status !== 'completed') throw new Error(`the run ended with ${JSON.stringify(result).slice(0, 500)}`)
}
