import { cutAt } from '../core/cut.ts'
import { roughTokens } from '../core/estimate/tokens.ts'
import type { FinishReason, ModelEvent, ModelUsage } from '../core/model-event.ts'
import type { DocumentReader } from '../ports/documents.ts'
import type { Model, ModelRequest } from '../ports/model.ts'
import { compactionResponse } from './compaction.ts'
import { decide } from './decide/decide.ts'
import { escapeMarkup, writeDecision } from './decide/decision.ts'
import { openDocument } from './decide/open-documents.ts'
import { readSituation } from './prompt/situation.ts'

/** Options of `createOfflineModel`. */
export interface OfflineOptions {
  /** Reads PDF files. Without a reader, the model can not read PDF files, and its answers say so. */
  readonly documents?: DocumentReader
}

const modelName = 'offline'

/**
 * A model without network and without weights. It parses the same prompt that other models get, and responds with the same channels. It
 * quotes documents with citations, computes results from tables, and answers from its notes. The same prompt always gives the same
 * response.
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
    const response = await respond(request)
    const text = cutAt(response, request.maxTokens * 4)
    const finishReason: FinishReason = text.length < response.length ? 'length' : 'stop'
    for (const piece of splitPieces(text)) {
      if (signal.aborted) return yield abortedEvent('after_output')
      yield { type: 'text.delta', text: piece }
    }
    yield { type: 'finish', finishReason, modelName, usage: estimateUsage(request, text) }
  }

  return { name: modelName, window: 200_000, stream }
}

const maxTitleWords = 6

/**
 * The response to a `gate` request. The title is the first words of the message. A message without words gets the name of the first
 * attachment.
 */
function titleResponse(prompt: ModelRequest): string {
  const { request, documents } = readSituation(prompt)
  const words = escapeMarkup(request)
    .replace(/["\\]/g, '')
    .split(/\s+/)
    .filter((word) => word !== '')
  const title =
    words.length === 0
      ? (documents[0]?.name ?? null)
      : `${words
          .slice(0, maxTitleWords)
          .join(' ')
          .replace(/(?<![\s,.;:!?])[\s,.;:!?]+$/, '')}${words.length > maxTitleWords ? ' …' : ''}`
  const output = JSON.stringify({ conversation_title: title === '' ? null : title })
  return `<channel:thinking>The first words name it.</channel:thinking>\n<channel:output>${output}</channel:output>`
}

const pieceLength = 24

/** Cuts the text into small pieces, in the way that models stream text. No cut is inside a surrogate pair. */
function* splitPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + pieceLength)
    const last = text.charCodeAt(end - 1)
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end++
    yield text.slice(at, end)
    at = end
  }
}

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

export type { Model } from '../ports/model.ts'
