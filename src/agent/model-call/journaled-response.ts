import type { BlockOrigin } from '../../core/block/index.ts'
import { fromUsageRecord } from '../../core/cost/call-usage.ts'
import type { FinishReason, ModelEvent, ServiceError } from '../../core/model-event.ts'
import { eventsOfParts, parseParts } from '../../core/stream/native-parts.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import { openActivity } from '../conversation/inbox.ts'
import type { Turn } from '../turn/turn.ts'
import { readOptions } from './call-model.ts'
import { createChannelReader } from './live-output.ts'
import type { JournaledCall } from './model-call.ts'
import type { ReadOptions } from './model-response.ts'
import { createNativeReader } from './native-reader.ts'
import { readResponse } from './read-response.ts'
import { isAdapterError } from './service-errors.ts'

/**
 * Reads a response that a dead process has committed without acting on it. The response is read like a new one, so it leads to the same
 * decision, and clients that watch the turn see it.
 */
export async function readJournaledResponse(
  turn: Turn,
  origin: BlockOrigin,
  entry: ResponseReceived,
  acceptsPlainText: boolean,
): Promise<JournaledCall> {
  const response = await readResponse(
    () => journaledEvents(entry),
    openActivity(),
    readOptions(turn, origin, 0, acceptsPlainText, entry.dialect ?? 'channels'),
  )
  return { journaled: true, response, attempt: 0 }
}

/** The part of an answer that users saw before the response was interrupted. It is computed from the text of the response. */
export function shownAnswerOf(turn: Turn, entry: ResponseReceived): string | undefined {
  const { raw, dialect = 'channels', turn_id: turnId, call_id: callId, iteration, ts } = entry
  const options = { ...readOptions(turn, { turnId, callId, iteration, ts }, 0, false, dialect), emit: () => {} }
  if (dialect === 'native') return shownNativeAnswer(raw, options)
  const reader = createChannelReader(options)
  reader.readTo(raw)
  reader.end('cut')
  return reader.liveOutput.answer()?.text
}

function shownNativeAnswer(raw: string, options: ReadOptions): string | undefined {
  const reader = createNativeReader(options)
  for (const event of eventsOfParts(parseParts(raw))) reader.receive(event)
  reader.end('cut')
  return reader.liveOutput.answer()?.text
}

/**
 * The model events that led to this entry. If the adapter of the model threw an error, the generator throws an error after the same events.
 */
export async function* journaledEvents({
  raw,
  dialect,
  finish_reason,
  usage,
  error,
  prompt,
}: ResponseReceived): AsyncGenerator<ModelEvent> {
  if (dialect === 'native') yield* eventsOfParts(parseParts(raw))
  else if (raw !== '') yield { type: 'text.delta', text: raw }
  if (finish_reason === 'interrupted') return
  if (error && isAdapterError(error)) throw new Error('The adapter of the model threw an error.')
  if (error || finish_reason === 'error') return yield { type: 'error', error: error ?? unknownError }
  if (finish_reason === 'other' && !usage) return // the call was aborted because the response broke a rule
  yield {
    type: 'finish',
    finishReason: finish_reason as FinishReason, // the cast is safe, because only reasons that a model returned are journaled
    modelName: prompt?.model ?? '',
    ...(usage && { usage: fromUsageRecord(usage) }),
  }
}

/** The error of a response whose entry does not say why the provider failed. */
export const unknownError: ServiceError = {
  kind: 'unknown',
  service_name: 'recorded',
  provider: '',
  model_name: '',
  error_type: 'unknown',
  message: 'the provider failed',
  stage: 'before_output',
  retryable: false,
}
