import type { Plan } from '../block/plan.ts'
import type { ToolCall } from '../block/round.ts'
import type { JsonObject } from '../json.ts'
import type { ServiceError } from '../model-event.ts'
import type { SourceRow } from '../sources/source.ts'
import type { ResponseReceived, Wait } from '../timeline/change.ts'
import type { InboxEvent, MessageKind } from '../timeline/inbox-event.ts'
import type { Usage } from '../timeline/response-record.ts'

/**
 * What people see of a journal entry. The terminal, the view of the client and the event formats of the server use these events and read no
 * blocks.
 */
export type VisibleEvent = ConversationEvent | BlockEvent

/** An event about the conversation or a turn, and not about a single block. */
type ConversationEvent =
  | { readonly kind: 'turn.started'; readonly turnId: string; readonly ts: string }
  | TurnEnded
  /**
   * The turn waits for something, such as the approval of a person. `parked` is false if the turn continues during these waits. If it is
   * true, the turn does nothing until something arrives for it. `waits` are the new waits only.
   */
  | {
      readonly kind: 'turn.waiting'
      readonly turnId: string
      readonly ts: string
      readonly waits: readonly Wait[]
      readonly parked: boolean
    }
  /** The waits `waitIds` have ended, and the turn continues. */
  | { readonly kind: 'turn.resumed'; readonly turnId: string; readonly ts: string; readonly waitIds: readonly string[] }
  | ResponseEvent
  | { readonly kind: 'title'; readonly ts: string; readonly title: string }
  /** New and changed sources, with all their fields. */
  | { readonly kind: 'sources.found'; readonly ts: string; readonly rows: readonly SourceRow[] }
  | { readonly kind: 'source.removed'; readonly ts: string; readonly sid: number }
  /** The sources that the answers of the turn cite. */
  | { readonly kind: 'sources.cited'; readonly ts: string; readonly sids: readonly number[] }
  /** The conversation accepted a message. It waits until the agent reads it. */
  | { readonly kind: 'message.accepted'; readonly message: InboxEvent & { readonly kind: MessageKind } }
  | { readonly kind: 'messages.read'; readonly turnId: string | null; readonly ts: string; readonly eventIds: readonly string[] }
  /** A summary replaced older turns in the prompt. People still see these turns. */
  | { readonly kind: 'compaction'; readonly turnId: string | null; readonly ts: string | undefined; readonly coveredTurns: number }
  | HistoryEvent

export interface TurnEnded {
  readonly kind: 'turn.ended'
  readonly turnId: string
  readonly ts: string
  readonly exitReason: string
  /**
   * True when the turn ended without a result, for example because of an error or because it was cancelled. A turn that ended at a limit or
   * by a steer has not failed.
   */
  readonly failed: boolean
  readonly sourcesUsed: readonly number[]
}

/** The response of the model is complete. Its live text stays visible until the blocks of the round arrive, which may take some time. */
export interface ResponseEvent {
  readonly kind: 'response'
  readonly turnId: string
  readonly ts: string
  readonly iteration: number
  /** The purpose of the call; undefined for a decision. Calls with a purpose, such as a title, have no live text. */
  readonly role: ResponseReceived['role']
  readonly finishReason: string
  readonly model: string | undefined
  readonly usage: Usage | undefined
  readonly error: ServiceError | undefined
}

/** Blocks that were imported, or inserted into an earlier turn. A live stream of new events leaves them out. */
export interface HistoryEvent {
  readonly kind: 'history'
  readonly title: string | undefined
  readonly events: readonly BlockEvent[]
  /**
   * True for the import of a timeline. In this case `events` has the events of all visible blocks, including those that earlier entries of
   * the import already added. False for blocks that were inserted into an earlier turn.
   */
  readonly imported: boolean
}

/** An event of one block. A block may have several events. */
export type BlockEvent = { readonly blockId: string; readonly turnId: string; readonly ts: string } & (
  | { readonly kind: 'header' }
  | { readonly kind: 'prompt'; readonly text: string }
  /**
   * An attached image or PDF has two blocks, and each block has its own event. The second event, with the part `content`, repeats the
   * description.
   */
  | { readonly kind: 'attachment'; readonly file: FileView; readonly part: 'description' | 'content' }
  | { readonly kind: 'thinking' | 'notes'; readonly iteration: number; readonly text: string }
  | { readonly kind: 'tool.code'; readonly callId: string | undefined; readonly iteration: number; readonly text: string }
  | ToolCallEvent
  | ToolResultEvent
  /** A file that the agent delivered. `mime` is the media type of the block. For a patched file, this is the type of the diff. */
  | { readonly kind: 'file'; readonly file: FileView & { readonly rn: string }; readonly mime: string | undefined }
  /** A message of the runtime to the model about a call or a rejected response. */
  | { readonly kind: 'notice'; readonly callId: string | undefined; readonly code: string; readonly message: string }
  /** `plan` is undefined when the block can not be parsed. */
  | { readonly kind: 'plan'; readonly plan: Plan | undefined }
  /** A message that arrived during the turn. The event is at the position at which the agent read the message. */
  | { readonly kind: 'message'; readonly from: 'followup' | 'steer' | 'external'; readonly text: string }
  | { readonly kind: 'summary'; readonly text: string }
  | AnswerEvent
  | { readonly kind: 'followups'; readonly items: readonly string[] }
  | { readonly kind: 'questions'; readonly items: readonly string[] }
)

/** The events of one kind. */
export type BlockEventOf<K extends BlockEvent['kind']> = Extract<BlockEvent, { readonly kind: K }>

interface ToolCallEvent {
  readonly kind: 'tool.call'
  readonly callId: string | undefined
  readonly toolId: string | undefined
  readonly iteration: number | undefined
  /** Undefined when the block can not be parsed. */
  readonly call: ToolCall | undefined
}

interface ToolResultEvent {
  readonly kind: 'tool.result'
  readonly callId: string | undefined
  readonly path: string | undefined
  readonly mime: string | undefined
  readonly text: string | undefined
  readonly failed: boolean
  /** Why the call failed, if the result tells it. */
  readonly error: { readonly code: string; readonly message: string } | undefined
  /** True for the output of the call and for the digest of a file. False for the content of a file. */
  readonly isOutput: boolean
}

interface AnswerEvent {
  readonly kind: 'answer'
  readonly iteration: number
  /** Markdown as the model wrote it, with citations. */
  readonly text: string
  readonly sourcesUsed: readonly number[]
  readonly truncated: boolean
  /** The user stopped the turn while this answer was being written. The text is the part that users saw. */
  readonly stopped: boolean
  /** The object that the model wrote in the `usage` channel of this answer. */
  readonly usage: JsonObject | undefined
  /**
   * An `attempt` is an answer after which the turn continued, because a followup came or a second action followed. At the end of the turn,
   * the attempts are appended again as `superseded`, before the `final` answer.
   */
  readonly state: 'attempt' | 'superseded' | 'final'
  /** True for the first of the answers that are appended at the end of a turn. */
  readonly first: boolean
}

/** A file that the user attached or the agent delivered. */
export interface FileView {
  readonly path: string
  readonly filename: string
  readonly mime: string | undefined
  readonly size: number | undefined
  /** The resource name for `/v1/resources/`. Undefined when the file is not hosted. */
  readonly rn: string | undefined
  readonly description: string | undefined
}
