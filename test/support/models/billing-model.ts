import type { ModelEvent } from '../../../src/core/model-event.ts'
import type { Model, ModelRequest } from '../../../src/ports/model.ts'

/** A request, with the number of tokens that a provider would charge. */
export interface BilledRequest {
  readonly role: ModelRequest['role']
  readonly tokens: number
  readonly maxTokens: number
  readonly text: string
}

export interface BillingModel extends Model {
  readonly billed: readonly BilledRequest[]
}

/**
 * Counts tokens roughly as a tokenizer does: one per Chinese, Japanese or Korean character, and one per four other characters. It has no
 * code in common with the estimate of the agent, so that the two can be compared.
 */
export function billedTokens(text: string): number {
  let dense = 0
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) >= 0x3000) dense++
  return Math.ceil(dense + (text.length - dense) / 4)
}

/**
 * A model that counts every request with `billedTokens` and reports the count as usage. `decide` returns the text of a decision. `summary`
 * is the text of a summary; the model writes at most `maxTokens` of it.
 */
export function billingModel(options: {
  readonly window: number
  readonly decide: (request: ModelRequest) => string
  readonly summary?: string
}): BillingModel {
  const billed: BilledRequest[] = []
  const { window, summary = '## Progress\nSome things were said.' } = options

  function textFor(request: ModelRequest): string {
    if (request.role === 'gate') return '<channel:output>{"conversation_title":"Talk"}</channel:output>'
    if (request.role === 'decision') return options.decide(request)
    let end = Math.min(summary.length, request.maxTokens * 4)
    while (billedTokens(summary.slice(0, end)) > request.maxTokens) end = Math.floor(end * 0.9)
    return summary.slice(0, end)
  }

  async function* stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
    const text = [request.system, ...request.parts.map((part) => (part.type === 'text' ? part.text : ''))].join('')
    const tokens = billedTokens(text)
    billed.push({ role: request.role, tokens, maxTokens: request.maxTokens, text })
    const answer = textFor(request)
    yield { type: 'text.delta', text: answer }
    const usage = { uncached: tokens, cacheRead: 0, cacheWrite: 0, output: billedTokens(answer), reasoning: 0 }
    yield { type: 'finish', finishReason: 'stop', modelName: 'billing', usage }
  }

  return { name: 'billing', window, billed, stream }
}
