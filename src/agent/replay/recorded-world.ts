import type { Block } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { FinishReason, ModelEvent, ServiceError } from '../../core/model-event.ts'
import { blocksOfChange, type ResponseReceived } from '../../core/timeline/change.ts'
import type { Model, ModelRole } from '../../ports/model.ts'
import type { PublishOutcome, Workspace } from '../../ports/workspace.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Inbox } from '../conversation/inbox.ts'
import { isAdapterError } from '../model-call/read-response.ts'
import type { Turn } from '../turn/turn.ts'
import type { Player } from './player.ts'
import type { Recording } from './recording.ts'

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

/** The files of a turn, as far as the record knows of them: that they were published, and with what success. */
export function recordedWorkspace({ entries }: Recording): Pick<Turn, 'workspaceHandle' | 'workspace'> {
  const block = entries.flatMap(({ change }) => blocksOfChange(change)).find(({ type }) => type === 'react.workspace.publish')
  const published = block && publishedIn(block)
  const gone = async (): Promise<never> => {
    throw new Failure('workspace.missing', 'a replay has no files')
  }
  const workspace: Pick<Workspace, 'publish' | 'describe'> = { publish: async () => published ?? gone(), describe: gone }
  return {
    workspaceHandle: { isOpen: () => published !== undefined, implementation: published?.record.workspace_implementation },
    workspace: async () => workspace as Workspace, // tools do not run, and the loop asks for nothing else
  }
}

function publishedIn(block: Block): PublishOutcome | undefined {
  const record = parseJson(block.text)
  if (!isObject(record) || typeof record.status !== 'string') return undefined
  const { keeps } = block.meta ?? {}
  const whole = record as unknown as PublishOutcome['record'] // it was one when it was entered
  return { status: whole.status, record: whole, ...(Array.isArray(keeps) && { keeps: keeps as NonNullable<PublishOutcome['keeps']> }) }
}
