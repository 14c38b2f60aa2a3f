import type { Plan } from '../../core/block/index.ts'
import type { TurnStatus } from '../../core/event.ts'
import type { ServiceError } from '../../core/model-event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { Wait } from '../../core/timeline/change.ts'
import type { MessageKind } from '../../core/timeline/inbox-event.ts'
import type { Usage } from '../../core/timeline/response-record.ts'
import type { FileView } from '../../core/view/visible-event.ts'

export type { FileView }

/**
 * A conversation as a person sees it. A view is never modified. Each event gives a new view, which reuses the objects that the event did
 * not change.
 */
export interface ConversationView {
  /** The `seq` of the latest entry in this view. To get the next events, follow the conversation after this `seq`. */
  readonly lastSeq: number
  readonly title: string | undefined
  readonly turns: readonly TurnView[]
  /** The sources that answers may cite, by SID. */
  readonly sources: ReadonlyMap<number, SourceRow>
  /** Accepted messages that no turn has read yet. */
  readonly waiting: readonly WaitingMessage[]
  /** The round that is being streamed. It becomes undefined when the blocks of the round arrive. */
  readonly live: LiveRound | undefined
}

/** A turn as a person sees it. */
export interface TurnView {
  readonly id: string
  readonly startedAt: string
  readonly endedAt: string | undefined
  readonly exitReason: string | undefined
  /**
   * Whether the turn failed: its exit reason is `error`, `protocol_violation`, `cancelled` or `unpriced`. False while the turn runs, and
   * for all other exit reasons, for example if it ended at a limit or by a steer.
   */
  readonly failed: boolean
  /** What the turn waits for, such as an approval. A call in this list is also a step of the turn. */
  readonly waits: readonly Wait[]
  /** True while the turn only waits. It continues when something arrives that it waits for, or when a new message arrives. */
  readonly parked: boolean
  readonly prompt: string | undefined
  readonly attachments: readonly FileView[]
  /** The steps between the prompt and the answer, in order. */
  readonly steps: readonly StepView[]
  /** The latest state of each plan that this turn has created or changed. */
  readonly plans: readonly Plan[]
  /** The answers of the turn. The last answer is the valid one. Each earlier answer was replaced because a followup arrived. */
  readonly answers: readonly AnswerView[]
  readonly followups: readonly string[]
  readonly questions: readonly string[]
  /** The files that the agent made for users in this turn. */
  readonly files: readonly FileView[]
  readonly usage: Required<Omit<Usage, 'cache_write_long'>>
}

/** An answer of the agent. */
export interface AnswerView {
  /** Markdown as the model wrote it, with citations such as `[[S:1]]`. */
  readonly text: string
  readonly sourcesUsed: readonly number[]
  readonly truncated: boolean
  /** True when the user stopped the turn while this answer was being written. The text is the part that users saw. */
  readonly stopped: boolean
}

/** A step between the prompt and the answer of a turn. */
export type StepView = ThinkingStep | NotesStep | ToolStep | NoticeStep | MessageStep | SummaryStep

/** The model's thinking. */
export interface ThinkingStep {
  readonly kind: 'thinking'
  readonly iteration: number
  readonly text: string
}
/** The sentence for the user that the model wrote with a tool call. */
export interface NotesStep {
  readonly kind: 'notes'
  readonly iteration: number
  readonly text: string
}
/** A tool call and its results. */
export interface ToolStep {
  readonly kind: 'tool'
  readonly callId: string
  readonly toolId: string
  readonly iteration: number
  readonly params: Readonly<Record<string, unknown>>
  readonly code: string | undefined
  readonly status: 'running' | 'done' | 'failed'
  /** When the call was made. The tool may have waited for an approval after that. */
  readonly startedAt: string
  /** When the last result arrived. Undefined while there is no result. */
  readonly endedAt: string | undefined
  readonly notices: readonly { readonly code: string; readonly message: string }[]
  readonly results: readonly ResultView[]
}
/** One block of the result of a tool call. */
export interface ResultView {
  readonly path: string | undefined
  readonly mime: string | undefined
  readonly text: string | undefined
}
/** A notice of the runtime to the model. */
export interface NoticeStep {
  readonly kind: 'notice'
  readonly code: string
  readonly message: string
}
/** A message that arrived while the turn was running. */
export interface MessageStep {
  readonly kind: 'message'
  readonly from: 'followup' | 'steer' | 'external'
  readonly text: string
}
/** The text of a summary that has replaced older turns. */
export interface SummaryStep {
  readonly kind: 'summary'
  readonly text: string
}

/** A message that was accepted but that no turn has read yet. */
export interface WaitingMessage {
  readonly eventId: string
  readonly kind: MessageKind
  readonly text: string
}

/** The running round, with the texts that the model has written so far. */
export interface LiveRound {
  readonly turnId: string
  readonly iteration: number
  /** How often the model call was repeated. A new attempt replaces the text of the previous attempt. */
  readonly attempt: number
  /** What the agent does now. As long as at least one tool runs, the status is `tool.started`. */
  readonly status: TurnStatus | undefined
  /** The tool that was started last and still runs. Undefined when no tool runs. */
  readonly toolId: string | undefined
  /** The calls whose tools run now. A response can have several calls. */
  readonly running: readonly RunningCall[]
  readonly error: ServiceError | undefined
  readonly lanes: readonly LiveLane[]
}

/** A call whose tool runs now. */
export interface RunningCall {
  readonly callId: string
  readonly toolId: string
  /** What the tool does now, in its own words. Undefined when the tool has not reported it. */
  readonly progress?: string | undefined
}

/** A text that the model is writing now, such as the answer or the content of a file. */
export interface LiveLane {
  /**
   * The place where a client shows the text: `thinking`, `answer`, `canvas` (the content of a file), `timeline_text` (a text between the
   * steps) or `subsystem` (the code of an exec tool and its status). Later versions may add markers.
   */
  readonly marker: string
  readonly artifactName: string | undefined
  readonly format: string
  readonly text: string
  readonly completed: boolean
}

/** The view before the first event. */
export const emptyView: ConversationView = {
  lastSeq: 0,
  title: undefined,
  turns: [],
  sources: new Map(),
  waiting: [],
  live: undefined,
}
