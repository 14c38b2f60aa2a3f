import type { Plan } from '../../core/block/index.ts'
import type { TurnStatus } from '../../core/event.ts'
import type { ServiceError } from '../../core/model-event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { Usage } from '../../core/timeline/change.ts'
import type { FileView } from '../../core/view/visible-event.ts'

export type { FileView }

/** A conversation as a person sees it. A view never changes: each event gives a new view, which shares the unchanged parts. */
export interface ConversationView {
  /** The seq of the latest entry in this view. A follower resumes after it. */
  readonly lastSeq: number
  readonly title: string | undefined
  readonly turns: readonly TurnView[]
  /** The sources that answers may cite, by SID. */
  readonly sources: ReadonlyMap<number, SourceRow>
  /** Accepted messages that no turn has read yet. */
  readonly waiting: readonly WaitingMessage[]
  /** The round that is being streamed. It becomes undefined when the entry of the round comes. */
  readonly live: LiveRound | undefined
}

/** What a person sees of a turn. */
export interface TurnView {
  readonly id: string
  readonly startedAt: string
  readonly endedAt: string | undefined
  readonly exitReason: string | undefined
  /** True when the turn ended without a result. False while it runs, and when a limit or the user ended it. */
  readonly failed: boolean
  readonly prompt: string | undefined
  readonly attachments: readonly FileView[]
  /** What happened between the prompt and the answer, in order. */
  readonly steps: readonly StepView[]
  /** The latest state of each plan that this turn created or changed. */
  readonly plans: readonly Plan[]
  /** The last one is the answer. Earlier ones were superseded by a followup. */
  readonly answers: readonly AnswerView[]
  readonly followups: readonly string[]
  readonly questions: readonly string[]
  /** Files that the agent delivered. */
  readonly files: readonly FileView[]
  readonly usage: Required<Omit<Usage, 'cache_write_long'>>
}

/** An answer of the agent. */
export interface AnswerView {
  /** Markdown as the model wrote it, with its citation marks. */
  readonly text: string
  readonly sourcesUsed: readonly number[]
  readonly truncated: boolean
  /** True when the user stopped the turn while this answer was being written. The text is the part that users saw. */
  readonly stopped: boolean
}

/** A step of a turn. */
export type StepView = ThinkingStep | NotesStep | ToolStep | NoticeStep | MessageStep | SummaryStep

/** The model's thinking. */
export interface ThinkingStep {
  readonly kind: 'thinking'
  readonly iteration: number
  readonly text: string
}
/** Notes that the model wrote beside a call. */
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
  readonly notices: readonly { readonly code: string; readonly message: string }[]
  readonly results: readonly ResultView[]
}
/** A part of the result of a tool call. */
export interface ResultView {
  readonly path: string | undefined
  readonly mime: string | undefined
  readonly text: string | undefined
}
/** A notice that the runtime gave the model. */
export interface NoticeStep {
  readonly kind: 'notice'
  readonly code: string
  readonly message: string
}
/** A message that came while the turn was running. */
export interface MessageStep {
  readonly kind: 'message'
  readonly from: 'followup' | 'steer' | 'external'
  readonly text: string
}
/** A summary that has replaced older turns. */
export interface SummaryStep {
  readonly kind: 'summary'
  readonly text: string
}

/** A message that was accepted but that no turn has read yet. */
export interface WaitingMessage {
  readonly eventId: string
  readonly kind: 'followup' | 'steer' | 'feedback' | 'external'
  readonly text: string
}

/** The round that is running, with the texts that the model has written so far. */
export interface LiveRound {
  readonly turnId: string
  readonly iteration: number
  /** How often the model call was retried. The text of an attempt replaces that of earlier attempts. */
  readonly attempt: number
  readonly status: TurnStatus | undefined
  readonly toolId: string | undefined
  readonly error: ServiceError | undefined
  readonly lanes: readonly LiveLane[]
}

/** A text that is being written. */
export interface LiveLane {
  /** The kind of text: thinking, answer, canvas, timeline_text or subsystem. Later versions may add kinds. */
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
