import type { FinishReason, ModelEvent, ServiceError } from '../../core/model-event.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import type { Model, ModelRole } from '../../ports/model.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Inbox } from '../inbox.ts'
import { adapterThrew } from '../listen.ts'
import type { Conductor } from './conductor.ts'

/** The inbox, with what came in after an answer coming in again as soon as the answer is over. */
export function recordedInbox(inbox: Inbox, conductor: Conductor): Inbox {
  return {
    accept: inbox.accept,
    get waiting() {
      return inbox.waiting
    },
    get steered() {
      return inbox.steered
    },
    get closed() {
      return inbox.closed
    },
    get serving() {
      return inbox.serving
    },
    serve: inbox.serve,
    leave: inbox.leave,
    untilServed: inbox.untilServed,
    rest: inbox.rest,
    close: inbox.close,
    pause: async () => {},
    beginPhase() {
      const phase = inbox.beginPhase()
      return {
        signal: phase.signal,
        abort: (reason) => phase.abort(reason),
        whenStopped: (act) => phase.whenStopped(act),
        end() {
          phase.end()
          for (const event of conductor.dueAfterAnswer()) inbox.accept(event).catch(() => {}) // the next commit fails by itself
        },
      }
    },
  }
}

export function recordedModel(role: ModelRole, conductor: Conductor, inbox: Inbox, window: number | undefined, halt: () => void): Model {
  return {
    name: 'recorded',
    window: window ?? Number.MAX_SAFE_INTEGER,
    async *stream(_request, signal): AsyncGenerator<ModelEvent> {
      const answer = conductor.answer(role)
      if (answer === 'too long') return yield { type: 'error', error: tooLong }
      if (answer === undefined) return halt()
      if (answer.raw !== '') yield { type: 'text.delta', text: answer.raw }
      if (answer.finish_reason === 'interrupted') {
        for (const event of conductor.due()) await inbox.accept(event)
        return signal.aborted ? undefined : halt()
      }
      yield* ending(answer)
    },
  }
}

function* ending({ finish_reason, usage, error, prompt }: ResponseReceived): Generator<ModelEvent> {
  if (error && adapterThrew(error)) throw new Error('The adapter of the model threw an error.')
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

export function recordedTool(tool: Tool, conductor: Conductor, inbox: Inbox, halt: () => void): Tool {
  return {
    ...tool,
    timeoutMs: undefined, // whether it took too long is on record
    async run() {
      const outcome = conductor.outcome()
      if (!outcome) {
        halt()
        return { ok: false }
      }
      for (const event of conductor.due()) await inbox.accept(event)
      const { ok, code, changes } = outcome
      return { ok, changes, ...(code !== undefined && { error: { code, message: '' } }) }
    },
  }
}
