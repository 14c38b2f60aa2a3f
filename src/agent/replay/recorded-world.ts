import type { Block } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { ModelEvent, ServiceError } from '../../core/model-event.ts'
import { blocksOfChange } from '../../core/timeline/change.ts'
import type { Model, ModelRole } from '../../ports/model.ts'
import type { PublishOutcome, Workspace } from '../../ports/workspace.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Inbox } from '../conversation/inbox.ts'
import { journaledEvents, unknownError } from '../model-call/journaled-response.ts'
import type { TurnWorkspace } from '../workspace/workspace.ts'
import type { Arrival, Player } from './player.ts'
import type { Recording } from './recording.ts'

/**
 * The inbox of a replay. Events that arrived during a model call are delivered when the call has ended, if its response was not
 * interrupted.
 */
export function recordedInbox(inbox: Inbox, player: Player): Inbox {
  return {
    accept: inbox.accept,
    withdraw: inbox.withdraw,
    openingEvent: undefined,
    hasSteer: inbox.hasSteer,
    get closed() {
      return inbox.closed
    },
    get currentTurn() {
      return inbox.currentTurn
    },
    startTurn: inbox.startTurn,
    endTurn: inbox.endTurn,
    // A replay has no timer. `recordedModel` ends the time during the call that the time limit interrupted.
    limitTime: () => inbox.limitTime(undefined),
    get timeUp() {
      return inbox.timeUp
    },
    untilTurnStarts: inbox.untilTurnStarts,
    nextFollowupOrClose: inbox.nextFollowupOrClose,
    closeWhileWaiting: inbox.closeWhileWaiting,
    close: inbox.close,
    waitForEvents: async () => {},
    beginActivity() {
      const activity = inbox.beginActivity()
      return {
        signal: activity.signal,
        abort: (reason) => activity.abort(reason),
        onStop: (callback) => activity.onStop(callback),
        end() {
          activity.end()
          // An error is ignored, because the turn's next commit fails with the same error.
          for (const arrival of player.dueAfterResponse()) deliver(arrival, inbox).catch(() => {})
        },
      }
    },
  }
}

const deliver = (arrival: Arrival, inbox: Inbox): Promise<unknown> =>
  arrival.type === 'event.accepted' ? inbox.accept(arrival.event) : inbox.withdraw(arrival.event_ids[0] ?? '', arrival.ts)

/**
 * A model that answers with the recorded response. If the recording has no response at this point, the model calls `halt`, which stops the
 * turn. A steer or the time limit may have interrupted the recorded response. If the recording has no steer at this point, it was the time
 * limit, and the model calls `endTime`. If the process died during the recorded call, the model calls `die`, and the turn is resumed.
 */
export function recordedModel(
  role: ModelRole,
  player: Player,
  inbox: Inbox,
  window: number | undefined,
  { halt, die, endTime }: { readonly [What in 'halt' | 'die' | 'endTime']: () => void },
): Model {
  return {
    name: 'recorded',
    window: window ?? Number.MAX_SAFE_INTEGER,
    async *stream(_request, signal): AsyncGenerator<ModelEvent> {
      const response = player.recordedResponse(role)
      if (response === 'too long') return yield { type: 'error', error: tooLong }
      if (response === 'died') return die()
      if (response === undefined) return halt()
      if (response.finish_reason === 'interrupted') {
        // The steer arrives before the text, so that the replayed response is also interrupted. Otherwise its incomplete text would be
        // rejected because it breaks rules.
        for (const arrival of player.dueEvents()) await deliver(arrival, inbox)
        if (!signal.aborted) endTime()
      }
      yield* journaledEvents(response)
    },
  }
}

const tooLong: ServiceError = { ...unknownError, kind: 'context_overflow', message: 'prompt is too long' }

/** A tool that returns the recorded outcome. If the recording has no outcome, it calls `halt`, which stops the turn. */
export function recordedTool({ approval: _decided, ...tool }: Tool, player: Player, inbox: Inbox, halt: () => void): Tool {
  return {
    ...tool,
    timeoutMs: undefined, // if the tool timed out, the recorded outcome says so
    async run(_params, { origin }) {
      const outcome = player.recordedOutcome(origin.callId)
      if (!outcome) {
        halt()
        return { ok: false }
      }
      for (const arrival of player.dueEvents()) await deliver(arrival, inbox)
      const { ok, code, changes } = outcome
      return { ok, changes, ...(code !== undefined && { error: { code, message: '' } }) }
    },
  }
}

/** A workspace on which only `publish` works. It returns the recorded outcome. */
export function recordedWorkspace({ entries }: Recording, implementation: TurnWorkspace['implementation']): TurnWorkspace {
  const block = entries.flatMap(({ change }) => blocksOfChange(change)).find(({ type }) => type === 'react.workspace.publish')
  const published = block && publishedIn(block)
  const noFiles = async (): Promise<never> => {
    throw new Failure('workspace.missing', 'a replay has no files')
  }
  const workspace: Pick<Workspace, 'publish' | 'describe'> = { publish: async () => published ?? noFiles(), describe: noFiles }
  return {
    // the cast is safe: tools do not run in a replay, and the turn itself calls only `publish` and `describe`
    open: async () => workspace as Workspace,
    isOpen: published !== undefined,
    resumed: false,
    implementation: published?.record.workspace_implementation ?? implementation,
    programRan: async () => {},
    removeFinished: async () => {},
    wasUsedHere: false,
    resume: async () => {},
    addCall: () => {},
    writeContext: async () => {},
  }
}

function publishedIn(block: Block): PublishOutcome | undefined {
  const record = parseJson(block.text)
  if (!isObject(record) || typeof record.status !== 'string') return undefined
  const { keeps } = block.meta ?? {}
  const publishRecord = record as unknown as PublishOutcome['record'] // the cast is safe: only `publish` writes this record
  return {
    status: publishRecord.status,
    record: publishRecord,
    ...(Array.isArray(keeps) && { keeps: keeps as NonNullable<PublishOutcome['keeps']> }),
  }
}
