import type { BlobRef } from '../../core/block/index.ts'
import { calibrationOf, outputLimit } from '../../core/estimate/estimate.ts'
import { parseModelEvent } from '../../core/model-event.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import type { ModelRequest } from '../../ports/model.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { Renderers } from '../conversation/renderers.ts'
import type { Turn } from '../turn/turn.ts'
import { createStopTimer, isEnd, startIfOpen, startStopTimer, toUsageRecord, untilStopped } from './read-response.ts'

/** A request for a title or a summary. Clients do not see its response while the model writes it. */
export type QuietRequest = Omit<ModelRequest, 'role' | 'cacheKey' | 'read'> & { readonly role: 'gate' | 'compaction' }

/**
 * Calls the model and returns the response as a change that can be committed. Never rejects, because the turn can continue without a title
 * or summary. `finish_reason` is `error` after a failure, and if a budget has too little left for the call. It is `interrupted` if
 * `activity` was aborted.
 */
export async function callQuietly(
  turn: Turn,
  request: QuietRequest,
  activity: Activity = turn.conversation.inbox.beginActivity(),
): Promise<ResponseReceived> {
  const { turnId, agent, conversation } = turn
  const model = agent.models[request.role]
  const callId = agent.clock.randomHex(12)
  let raw = ''
  let finish_reason = 'other'
  let usage: ResponseReceived['usage']
  let modelName = model.name
  const maxTokens = Math.min(request.maxTokens, outputLimit(model.window))
  const expectedCall = () => ({
    model: model.name,
    inputTokens: estimateTokens(conversation.renderers, request) * calibrationOf(conversation.ledger.timeline),
    maxTokens,
  })
  const refused = conversation.budgets && (await conversation.budgets.reserve(request.role, expectedCall))
  if (refused) {
    activity.end()
    return response({ raw: '', finish_reason: 'error', prompt: { model: model.name } })
  }
  const read = ({ sha256 }: BlobRef) => agent.store.blobs.get(sha256)
  const stopTimer = createStopTimer()
  let finished = false
  let interrupted = false

  async function readEvents(): Promise<void> {
    try {
      for await (const received of model.stream({ ...request, maxTokens, cacheKey: conversation.conversationId, read }, activity.signal)) {
        if (stopTimer.expired) break
        const event = parseModelEvent(received, model.name)
        if (!event) continue
        if (event.type === 'text.delta') raw += event.text
        else if (event.type === 'error') {
          finished = false
          finish_reason = 'error'
          usage = event.usage && toUsageRecord(event.usage)
        } else if (event.type === 'finish') {
          finished = !activity.signal.aborted || isEnd(event.finishReason)
          finish_reason = event.finishReason
          usage = event.usage && toUsageRecord(event.usage)
          modelName = event.modelName
          startIfOpen(stopTimer)
        }
      }
    } finally {
      checkInterrupted()
    }
  }

  /**
   * Sets `interrupted`. Called when the stream ends, or when the model did not stop in time after an abort. A response that the model has
   * completed is not interrupted, even if the call was aborted.
   */
  function checkInterrupted(): void {
    interrupted = activity.signal.aborted && !finished
  }

  activity.onStop(() => startStopTimer(stopTimer, agent.settings.stopGraceMs))
  const failure = await untilStopped(stopTimer, readEvents())
  activity.end()
  if (stopTimer.expired) checkInterrupted()
  if (failure && !(finished && activity.signal.aborted)) finish_reason = 'error'
  if (interrupted) finish_reason = 'interrupted'
  const prompt = { model: modelName, ...(!usage && { estimated_tokens: estimateTokens(conversation.renderers, request) }) }
  return response({ raw, finish_reason, ...(usage && { usage }), prompt })

  function response(content: Pick<ResponseReceived, 'raw' | 'finish_reason' | 'usage' | 'prompt'>): ResponseReceived {
    const origin = { turn_id: turnId, ts: agent.clock.now(), iteration: 0, call_id: callId }
    return { type: 'response.received', role: request.role, ...origin, ...content }
  }
}

const estimateTokens = ({ estimator }: Renderers, { system, parts }: QuietRequest) => estimator.text(system) + estimator.parts(parts)
