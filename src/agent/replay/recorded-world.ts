import type { FinishReason, ModelEvent, ServiceError } from '../../core/model-event.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import type { Model, ModelRole } from '../../ports/model.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Inbox } from '../conversation/inbox.ts'
import { isAdapterError } from '../model-call/read-response.ts'
import type { Player } from './player.ts'

/** The inbox, with what came in after an answer coming in again as soon as the answer is over. */
export function recordedInbox(inbox: Inbox, conductor: Player): Inbox {
  return {
    accept: inbox.accept,
    get waiting() {
      return inbox.waiting
    },
    get hasSteer() {
      return inbox.hasSteer
    },
    get closed() {
      return inbox.closed
    },
    get currentTurn() {
      return inbox.currentTurn
    },
    startTurn: inbox.startTurn,
    endTurn: inbox.endTurn,
    untilTurnStarts: inbox.untilTurnStarts,
    nextFollowupOrClose: inbox.nextFollowupOrClose,
    close: inbox.close,
    waitForEvents: async () => {},
    beginActivity() {
      const phase = inbox.beginActivity()
      return {
        signal: phase.signal,
        abort: (reason) => phase.abort(reason),
        onStop: (act) => phase.onStop(act),
        end() {
          phase.end()
          for (const event of conductor.dueAfterResponse()) inbox.accept(event).catch(() => {}) // the next commit fails by itself
        },
      }
    },
  }
}

export function recordedModel(role: ModelRole, conductor: Player, inbox: Inbox, window: number | undefined, halt: () => void): Model {
  return {
    name: 'recorded',
    window: window ?? Number.MAX_SAFE_INTEGER,
    async *stream(_request, signal): AsyncGenerator<ModelEvent> {
      const answer = conductor.recordedResponse(role)
      if (answer === 'too long') return yield { type: 'error', error: tooLong }
      if (answer === undefined) return halt()
      if (answer.raw !== '') yield { type: 'text.delta', text: answer.raw }
      if (answer.finish_reason === 'interrupted') {
        for (const event of conductor.dueEvents()) await inbox.accept(event)
        return signal.aborted ? undefined : halt()
      }
      yield* endEvents(answer)
    },
  }
}

function* endEvents({ finish_reason, usage, error, prompt }: ResponseReceived): Generator<ModelEvent> {
  if (error && isAdapterError(error)) throw new Error('The adapter of the model threw an error.')
  if (error || finish_reason === 'error') return yield { type: 'error', error: error ?? unknownError }
  if (!usage) return // it was stopped for what it had said
  const { uncached, cache_read: cacheRead, cache_write: cacheWrite, output, reasoning = 0 } = usage
  yield {
    type: 'finish',
    finishReason: finish_reason as FinishReason, // it was one when it was entered
    modelName: prompt?.model ?? '',
    usage: { uncached, cacheRead, cacheWrite, output, reasoning },
  }
}

const unknownError: ServiceError = {
  kind: 'unknown',
  service_name: 'recorded',
  provider: '',
  model_name: '',
  error_type: 'unknown',
  message: 'the provider failed',
  stage: 'before_output',
  retryable: false,
}
const tooLong: ServiceError = { ...unknownError, kind: 'context_overflow', message: 'prompt is too long' }

export function recordedTool(tool: Tool, conductor: Player, inbox: Inbox, halt: () => void): Tool {
  return {
    ...tool,
    timeoutMs: undefined, // whether it took too long is on record
    async run() {
      const outcome = conductor.recordedOutcome()
      if (!outcome) {
        halt()
        return { ok: false }
      }
      for (const event of conductor.dueEvents()) await inbox.accept(event)
      const { ok, code, changes } = outcome
      return { ok, changes, ...(code !== undefined && { error: { code, message: '' } }) }
    },
  }
}
