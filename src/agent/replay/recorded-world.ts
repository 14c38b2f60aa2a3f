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
import type { TurnWorkspace } from '../turn/workspace.ts'
import type { Arrival, Player } from './player.ts'
import type { Recording } from './recording.ts'

/** The inbox of a replay. Events that came after a response arrive again as soon as that response has ended. */
export function recordedInbox(inbox: Inbox, player: Player): Inbox {
  return {
    accept: inbox.accept,
    withdraw: inbox.withdraw,
    openingEvent: undefined,
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
    limitTime: () => inbox.limitTime(undefined), // the time ends where it ended in the recording
    get timeUp() {
      return inbox.timeUp
    },
    untilTurnStarts: inbox.untilTurnStarts,
    nextFollowupOrClose: inbox.nextFollowupOrClose,
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
          // An error is ignored here: the turn's next commit fails with the same error.
          for (const arrival of player.dueAfterResponse()) deliver(arrival, inbox).catch(() => {})
        },
      }
    },
  }
}

const deliver = (arrival: Arrival, inbox: Inbox): Promise<unknown> =>
  arrival.type === 'event.accepted' ? inbox.accept(arrival.event) : inbox.withdraw(arrival.event_ids[0] ?? '', arrival.ts)

/**
 * A model that answers with the recorded response. When the recording has none, it calls `halt`, which stops the turn. When a response was
 * interrupted, and not by a steer, it calls `endTime`.
 */
export function recordedModel(
  role: ModelRole,
  player: Player,
  inbox: Inbox,
  window: number | undefined,
  { halt, endTime }: { readonly halt: () => void; readonly endTime: () => void },
): Model {
  return {
    name: 'recorded',
    window: window ?? Number.MAX_SAFE_INTEGER,
    async *stream(_request, signal): AsyncGenerator<ModelEvent> {
      const response = player.recordedResponse(role)
      if (response === 'too long') return yield { type: 'error', error: tooLong }
      if (response === undefined) return halt()
      if (response.finish_reason === 'interrupted') {
        // Before the text: an interrupted text breaks no rule, whatever it is.
        for (const arrival of player.dueEvents()) await deliver(arrival, inbox)
        if (!signal.aborted) endTime()
      }
      yield* journaledEvents(response)
    },
  }
}

const tooLong: ServiceError = { ...unknownError, kind: 'context_overflow', message: 'prompt is too long' }

/** A tool that returns the recorded outcome. When the recording has none, it calls `halt`, which stops the turn. */
export function recordedTool(tool: Tool, player: Player, inbox: Inbox, halt: () => void): Tool {
  return {
    ...tool,
    timeoutMs: undefined, // a timeout is part of the recorded outcome
    async run() {
      const outcome = player.recordedOutcome()
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

/** A workspace that can only be published. The outcome of that is taken from the recording. */
export function recordedWorkspace({ entries }: Recording, implementation: TurnWorkspace['implementation']): TurnWorkspace {
  const block = entries.flatMap(({ change }) => blocksOfChange(change)).find(({ type }) => type === 'react.workspace.publish')
  const published = block && publishedIn(block)
  const noFiles = async (): Promise<never> => {
    throw new Failure('workspace.missing', 'a replay has no files')
  }
  const workspace: Pick<Workspace, 'publish' | 'describe'> = { publish: async () => published ?? noFiles(), describe: noFiles }
  return {
    open: async () => workspace as Workspace, // the cast is safe: tools do not run, and the turn itself calls only these two functions
    isOpen: published !== undefined,
    resumed: false,
    implementation: published?.record.workspace_implementation ?? implementation,
    programRan: async () => {},
    removeFinished: async () => {},
    addCall: () => {},
    writeContext: async () => {},
  }
}

function publishedIn(block: Block): PublishOutcome | undefined {
  const record = parseJson(block.text)
  if (!isObject(record) || typeof record.status !== 'string') return undefined
  const { keeps } = block.meta ?? {}
  const publishRecord = record as unknown as PublishOutcome['record'] // the cast is safe: the journal holds what a publish wrote
  return {
    status: publishRecord.status,
    record: publishRecord,
    ...(Array.isArray(keeps) && { keeps: keeps as NonNullable<PublishOutcome['keeps']> }),
  }
}
