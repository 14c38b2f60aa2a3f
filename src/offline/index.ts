import { roughTokens } from '../core/estimate/tokens.ts'
import type { FinishReason, ModelEvent, ModelUsage } from '../core/model-event.ts'
import { cutAt } from '../core/render/text.ts'
import type { DocumentReader } from '../ports/documents.ts'
import type { Model, ModelRequest } from '../ports/model.ts'
import { compactionResponse } from './compaction.ts'
import { decide } from './decide/decide.ts'
import { escapeMarkup, splitPieces, writeDecision } from './decide/decision.ts'
import { openDocument } from './decide/open-documents.ts'
import { readSituation } from './prompt/situation.ts'

export interface OfflineOptions {
  /** Reads PDF. Without it PDFs stay closed, and the answer says so. */
  readonly documents?: DocumentReader
}

const modelName = 'offline'

/**
 * A model with no network and no weights. It reads the prompt that any model reads and answers in the same protocol: from documents,
 * by extraction with citations; from tables, by reckoning; from its notes. The same prompt gives the same bytes.
 */
export function createOfflineModel({ documents }: OfflineOptions = {}): Model {
  async function respond(request: ModelRequest): Promise<string> {
    if (request.role === 'gate') return titleResponse(request)
    if (request.role === 'compaction') return compactionResponse(request)
    const decision = await decide(readSituation(request), (document) => openDocument(document, request.read, documents))
    return writeDecision(decision)
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    if (signal.aborted) return yield abortedEvent('before_output')
    const whole = await respond(request)
    const text = cutAt(whole, request.maxTokens * 4)
    const finishReason: FinishReason = text.length < whole.length ? 'length' : 'stop'
    for (const piece of splitPieces(text)) {
      if (signal.aborted) return yield abortedEvent('after_output')
      yield { type: 'text.delta', text: piece }
    }
    yield { type: 'finish', finishReason, modelName: modelName, usage: estimateUsage(request, text) }
  }

  return { name: modelName, window: 200_000, stream }
}

/** An estimate: there is nobody to bill it. */
function estimateUsage({ system, parts }: ModelRequest, text: string): ModelUsage {
  const uncached = parts.reduce((sum, part) => sum + (part.type === 'text' ? roughTokens(part.text) : 0), roughTokens(system))
  return { uncached, cacheRead: 0, cacheWrite: 0, output: roughTokens(text), reasoning: 0 }
}

const abortedEvent = (stage: 'before_output' | 'after_output'): ModelEvent => ({
  type: 'error',
  error: {
    kind: 'aborted',
    service_name: modelName,
    provider: modelName,
    model_name: modelName,
    error_type: 'Aborted',
    message: 'aborted',
    stage,
    retryable: false,
  },
})

const maxTitleWords = 6

/** A title: the first words of the message, or the name of what came with it. */
export function titleResponse(request: ModelRequest): string {
  const { request: said, documents } = readSituation(request)
  const words = escapeMarkup(said)
    .replace(/["\\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '')
  const title =
    words.length === 0
      ? (documents[0]?.name ?? null)
      : `${words
          .slice(0, maxTitleWords)
          .join(' ')
          .replace(/[\s,.;:!?]+$/, '')}${words.length > maxTitleWords ? ' …' : ''}`
  const output = JSON.stringify({ conversation_title: title === '' ? null : title })
  return `<channel:thinking>The first words name it.</channel:thinking>\n<channel:output>${output}</channel:output>`
}
