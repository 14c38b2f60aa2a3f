import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Agent } from '../../../src/agent/agent.ts'
import type { ModelEvent } from '../../../src/core/model-event.ts'
import type { Model } from '../../../src/ports/model.ts'
import type { ConversationStore } from '../../../src/ports/store.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import { later } from '../../../src/tools/outcome.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import type { TurnObserver } from './long-turn.ts'

/*
 * A turn that any process can continue. Its first response has four calls: one needs an approval, one returns a result later, one fails, and
 * one is slow. Its second response has one call that needs an approval. Then it answers.
 */

type Observer = Pick<TurnObserver, 'onDecision' | 'onEffect'>

export function waitingTurnModel(observer: Observer): Model {
  return {
    name: 'waiting-turn',
    window: 200_000,
    async *stream({ role, cacheKey, parts }): AsyncGenerator<ModelEvent> {
      const last = parts.at(-1)
      const iteration = Number(/Iteration (\d+)\//.exec(last?.type === 'text' ? last.text : '')?.[1]) - 1
      if (role === 'decision') observer.onDecision(iteration, cacheKey)
      yield { type: 'text.delta', text: role === 'decision' ? replyOf(iteration) : title }
      const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
      yield { type: 'finish', finishReason: 'stop', modelName: 'waiting-turn', usage }
    },
  }
}

const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Waits"}</channel:output>'

function replyOf(iteration: number): string {
  if (iteration === 0)
    return reply.calls([['shop.pay', { amount: 1 }], ['shop.look', { shelf: 1 }], ['shop.fail'], ['shop.order', { title: 'Rome' }]])
  return iteration === 1 ? reply.call('shop.pay', { amount: 2 }) : reply.answer('Everything is done.')
}

export function waitingTurnTools(observer: Observer): readonly Tool[] {
  return [
    defineTool({
      id: 'shop.pay',
      description: 'Pays. Must not be repeated.',
      params: z.object({ amount: z.number() }),
      approval: true,
      run({ amount }, call) {
        observer.onEffect(call.idempotencyKey, 'shop.pay')
        return { paid: amount }
      },
    }),
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

/** Answers everything that the turn of a conversation waits for, until the turn is closed. A later process may do the same again. */
export async function answerAllWaits(agent: Agent, store: ConversationStore, conversationId: string): Promise<void> {
  for (;;) {
    const head = await store.head(conversationId)
    if (!head || head.openTurn === null) return
    for (const { kind, call_id: callId = '' } of head.waits) {
      const answer =
        kind === 'approval'
          ? agent.decide(conversationId, callId, { approved: true })
          : agent.complete(conversationId, callId, { ok: true, output: 'printed' })
      await answer.catch((error: { code?: string }) => {
        if (error.code !== 'call.settled') throw error // another answer came first
      })
    }
    await sleep(5)
  }
}
