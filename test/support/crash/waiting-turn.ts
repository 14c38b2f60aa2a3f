import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createMemoryBlobs } from '../../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../../src/adapters/store/memory/store.ts'
import { type AgentParts, createAgentFrom } from '../../../src/agent/agent.ts'
import type { Agent } from '../../../src/agent/agent-interface.ts'
import { agentTool } from '../../../src/agent/agent-tool.ts'
import type { ModelEvent } from '../../../src/core/model-event.ts'
import { isChildKey } from '../../../src/core/scope.ts'
import type { Model } from '../../../src/ports/model.ts'
import type { ConversationStore } from '../../../src/ports/store.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import type { TurnObserver } from '../../../src/testing/torture/long-turn.ts'
import { defineTool } from '../../../src/tools/define.ts'
import { later } from '../../../src/tools/outcome.ts'
import type { Tool } from '../../../src/tools/tool.ts'

/*
 * A turn that any process can continue. Its first response has five calls: one needs an approval, one is slow, one fails, one asks a
 * sub-agent, and one returns a result later. The sub-agent makes a call that needs an approval, and answers. The second response of the
 * turn has one call that needs an approval. After that, the turn ends with an answer.
 */

type Observer = Pick<TurnObserver, 'onDecision' | 'onEffect'>

function waitingTurnModel(observer: Observer): Model {
  return {
    name: 'waiting-turn',
    window: 200_000,
    async *stream({ role, cacheKey, parts }): AsyncGenerator<ModelEvent> {
      const last = parts.at(-1)
      const iteration = Number(/Iteration (\d+)\//.exec(last?.type === 'text' ? last.text : '')?.[1]) - 1
      if (role === 'decision') observer.onDecision(iteration, cacheKey)
      yield { type: 'text.delta', text: role === 'decision' ? replyOf(iteration, isChildKey(cacheKey)) : title }
      const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
      yield { type: 'finish', finishReason: 'stop', modelName: 'waiting-turn', usage }
    },
  }
}

const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Waits"}</channel:output>'

function replyOf(iteration: number, isChild: boolean): string {
  if (isChild) return iteration === 0 ? reply.call('shop.pay', { amount: 3 }) : reply.answer('Paid.')
  if (iteration === 0)
    return reply.calls([
      ['shop.pay', { amount: 1 }],
      ['shop.look', { shelf: 1 }],
      ['shop.fail'],
      ['agents.ask', { task: 'Pay 3.' }],
      ['shop.order', { title: 'Rome' }],
    ])
  return iteration === 1 ? reply.call('shop.pay', { amount: 2 }) : reply.answer('Everything is done.')
}

/** An agent that runs this turn, with its sub-agent. */
export function waitingTurnAgent(observer: Observer, parts: Pick<AgentParts, 'store' | 'clock'>): Agent {
  const model = waitingTurnModel(observer)
  const helper = createAgentFrom({ ...parts, model, tools: [payTool(observer)] })
  const agent = createAgentFrom({ ...parts, model, tools: waitingTurnTools(observer, helper) })
  const close = async () => {
    await agent.close()
    await helper.close()
  }
  return { ...agent, close }
}

/** The tools of the turn in this conversation, for a replay. They do nothing. */
export function recordedTools(conversationId: string): readonly Tool[] {
  const silent = { onDecision: () => {}, onEffect: () => {} }
  const parts = { store: createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() }), clock: createSystemClock() }
  return isChildKey(conversationId) ? [payTool(silent)] : waitingTurnTools(silent, waitingTurnAgent(silent, parts))
}

const payTool = (observer: Observer): Tool =>
  defineTool({
    id: 'shop.pay',
    description: 'Pays. Must not be repeated.',
    params: z.object({ amount: z.number() }),
    approval: true,
    run({ amount }, call) {
      observer.onEffect(call.idempotencyKey, 'shop.pay')
      return { paid: amount }
    },
  })

function waitingTurnTools(observer: Observer, helper: Agent): readonly Tool[] {
  return [
    payTool(observer),
    agentTool(helper, { description: 'Pays for you.', params: z.object({ task: z.string() }) }),
    defineTool({
      id: 'shop.look',
      description: 'Looks at a shelf. May be repeated.',
      params: z.object({ shelf: z.number() }),
      repeatable: true,
      parallel: true,
      async run({ shelf }) {
        await sleep(5)
        return { shelf }
      },
    }),
    defineTool({
      id: 'shop.fail',
      description: 'Fails.',
      params: z.object({}),
      parallel: true,
      repeatable: true,
      run() {
        throw new Error('no connection')
      },
    }),
    defineTool({
      id: 'shop.order',
      description: 'Orders something. Must not be repeated.',
      params: z.object({ title: z.string() }),
      run(_params, call) {
        observer.onEffect(call.idempotencyKey, 'shop.order')
        return later({ note: 'the printer' })
      },
    }),
  ]
}

/**
 * Answers everything that the turn of a conversation and its sub-agents wait for, until the turn is closed. A later process may do the same
 * again.
 */
export async function answerAllWaits(agent: Agent, store: ConversationStore, conversationId: string): Promise<void> {
  for (;;) {
    const head = await store.head(conversationId)
    if (!head || head.openTurn === null) return
    for (const { conversationId: id, kind, callId = '' } of (await agent.waiting({ conversationId })).waits) {
      const answer =
        kind === 'approval'
          ? agent.decide(id, callId, { approved: true })
          : kind === 'later' && agent.complete(id, callId, { ok: true, output: 'printed' })
      if (answer)
        await answer.catch((error: { code?: string }) => {
          if (error.code !== 'call.settled') throw error // another answer came first
        })
    }
    await sleep(5)
  }
}
