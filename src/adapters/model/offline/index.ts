import type { FinishReason, ModelEvent, ModelUsage } from '../../../core/model-event.ts'
import { cutAt } from '../../../core/render/text.ts'
import { roughTokens } from '../../../core/tokens.ts'
import type { DocumentReader } from '../../../ports/documents.ts'
import type { Model, ModelRequest } from '../../../ports/model.ts'
import { compactionResponse } from './compaction.ts'
import { decide } from './decide/decide.ts'
import { openDocument } from './decide/open.ts'
import { gateResponse } from './gate.ts'
import { situationOf } from './prompt/situation.ts'
import { piecesOf, writeOut } from './write-out.ts'

export interface OfflineOptions {
  /** Reads PDF. Without it PDFs stay closed, and the answer says so. */
  readonly documents?: DocumentReader
}

const name = 'offline'

/**
 * A model with no network and no weights. It reads the prompt that any model reads and answers in the same protocol: from documents,
 * by extraction with citations; from tables, by reckoning; from its notes. The same prompt gives the same bytes.
 */
export function createOfflineModel({ documents }: OfflineOptions = {}): Model {
  async function respond(request: ModelRequest): Promise<string> {
    if (request.role === 'gate') return gateResponse(request)
    if (request.role === 'compaction') return compactionResponse(request)
    const decision = await decide(situationOf(request), (document) => openDocument(document, request.read, documents))
    return writeOut(decision)
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    if (signal.aborted) return yield aborted('before_output')
    const whole = await respond(request)
    const text = cutAt(whole, request.maxTokens * 4)
    const finishReason: FinishReason = text.length < whole.length ? 'length' : 'stop'
    for (const piece of piecesOf(text)) {
      if (signal.aborted) return yield aborted('after_output')
      yield { type: 'text.delta', text: piece }
    }
    yield { type: 'finish', finishReason, modelName: name, usage: usageOf(request, text) }
  }

  return { name, window: 200_000, stream }
}

/** An estimate: there is nobody to bill it. */
function usageOf({ system, parts }: ModelRequest, text: string): ModelUsage {
  const uncached = parts.reduce((sum, part) => sum + (part.type === 'text' ? roughTokens(part.text) : 0), roughTokens(system))
  return { uncached, cacheRead: 0, cacheWrite: 0, output: roughTokens(text), reasoning: 0 }
}

const aborted = (stage: 'before_output' | 'after_output'): ModelEvent => ({
  type: 'error',
  error: {
    kind: 'aborted',
    service_name: name,
    provider: name,
    model_name: name,
    error_type: 'Aborted',
    message: 'aborted',
    stage,
    retryable: false,
  },
})
