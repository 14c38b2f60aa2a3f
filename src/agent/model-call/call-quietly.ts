import type { ModelEvent } from '../../core/model-event.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { Turn } from '../turn/turn.ts'
import { readModelStream } from './read-response.ts'
import { toUsageRecord } from './response.ts'

/** A question whose answer nobody watches: a title, a summary. */
export type QuietRequest = Omit<ModelRequest, 'role' | 'cacheKey' | 'read'> & { readonly role: 'gate' | 'compaction' }

/**
 * Asks and waits for the whole answer, as it will be entered. Whatever the provider or its adapter does, there is an answer: the
 * turn can do without what it asks for here, so a failure is `finish_reason: 'error'` and never the end of the turn. A steer does not
 * wait for it: then it is 'interrupted'.
 */
export function callQuietly(turn: Turn, question: QuietRequest): Promise<ResponseReceived> {
  const model = turn.models[question.role]
  let raw = ''
  let finish_reason = 'other'
  let usage: ResponseReceived['usage']
  let name = model.name
  const phase = turn.inbox.beginActivity()
  const take = (event: ModelEvent): boolean => {
    if (event.type === 'text.delta') raw += event.text
    else if (event.type === 'error') {
      finish_reason = 'error'
      usage = event.usage && toUsageRecord(event.usage)
    } else if (event.type === 'finish') {
      finish_reason = event.finishReason
      usage = event.usage && toUsageRecord(event.usage)
      name = event.modelName
    }
    return true
  }
  const speak = () => model.stream({ ...question, cacheKey: turn.conversationId, read: turn.readBlob }, phase.signal)
  const over = (broke: unknown): ResponseReceived => {
    phase.end()
    if (broke) finish_reason = 'error' // an adapter should not throw; if it does, that is a provider's failure like any other
    if (phase.signal.aborted) finish_reason = 'interrupted'
    return {
      type: 'response.received',
      role: question.role,
      turn_id: turn.turnId,
      ts: turn.clock.now(),
      iteration: 0,
      call_id: turn.clock.randomHex(12),
      raw,
      finish_reason,
      ...(usage && { usage }),
      prompt: { model: name, ...(!usage && { estimated_tokens: estimateTokens(turn, question) }) },
    }
  }
  return readModelStream(speak, { activity: phase, graceMs: turn.settings.stopGraceMs, onEvent: take, onEnd: over })
}

const estimateTokens = ({ renderers: { estimator } }: Turn, { system, parts }: QuietRequest) =>
  estimator.text(system) + estimator.parts(parts)
