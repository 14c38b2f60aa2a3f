import { z } from 'zod'
import type { ModelEvent } from '../../../src/core/model-event.ts'
import type { Model } from '../../../src/ports/model.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import { failed } from '../../../src/tools/outcome.ts'
import type { Call, Tool } from '../../../src/tools/tool.ts'

/** The tools that one response calls, in order. All of them are parallel. */
export const parallelCalls = ['shop.slow', 'shop.fails', 'shop.pay', 'shop.look', 'shop.order'] as const

export interface RoundObserver {
  onDecision(iteration: number, conversationId: string): void
  /** Called when a tool has done something that can not be undone. */
  onEffect(key: string, toolId: string): void
  /** Whether a tool has had its effect. */
  hadEffect(key: string, toolId: string): boolean
  /** Resolves when the journal has the outcomes of all other calls. The slow tool awaits it, so that it returns last. */
  othersFinished(conversationId: string): Promise<void>
}

/** A model that makes all calls in one response and then answers. Any process can continue the turn. */
export const parallelModel = (observer: Pick<RoundObserver, 'onDecision'>): Model => ({
  name: 'parallel-round',
  window: 200_000,
  async *stream({ role, parts, cacheKey }): AsyncGenerator<ModelEvent> {
    const hasResults = parts.some((part) => part.type === 'text' && part.text.includes('[TOOL RESULT '))
    if (role === 'decision') observer.onDecision(hasResults ? 1 : 0, cacheKey)
    const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Five calls"}</channel:output>'
    const text = role === 'gate' ? title : hasResults ? reply.answer('All done.') : reply.calls(parallelCalls.map((id) => [id] as const))
    yield { type: 'text.delta', text }
    const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }
    yield { type: 'finish', finishReason: 'stop', modelName: 'parallel-round', usage }
  },
})

export function parallelTools(observer: RoundObserver): readonly Tool[] {
  const define = (name: string, run: (call: Call) => unknown, options: { repeatable?: true; lookUp?: (key: string) => unknown } = {}) =>
    defineTool({
      id: `shop.${name}`,
      description: `Does ${name}.`,
      params: z.object({}),
      parallel: true,
      run: (_, call) => run(call),
      ...options,
    })
  const effect = ({ idempotencyKey, toolId }: Call) => observer.onEffect(idempotencyKey, toolId)
  return [
    define('slow', async (call) => {
      effect(call)
      await observer.othersFinished(call.conversationId)
      return 'slow'
    }),
    define('fails', (call) => {
      effect(call)
      return failed('no_money', 'There is no money.')
    }),
    define('pay', (call) => {
      effect(call)
      return 'paid'
    }),
    define('look', () => 'seen', { repeatable: true }),
    define(
      'order',
      (call) => {
        effect(call)
        return 'ordered'
      },
      { lookUp: (key) => (observer.hadEffect(key, 'shop.order') ? 'ordered' : 'not-done') },
    ),
  ]
}
