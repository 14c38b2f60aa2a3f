import type { Plan } from '../../core/block/index.ts'
import type { TurnStatus } from '../../core/event.ts'
import type { ServiceError } from '../../core/model-event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { Usage } from '../../core/timeline/change.ts'
import type { FileView } from '../../core/view/visible-event.ts'

export type { FileView }

/** A conversation as a person sees it. Immutable: every event gives a new view that shares the unchanged parts. */
export interface ConversationView {
  /** The latest entry in this view: where a follower resumes. */
  readonly lastSeq: number
  readonly title: string | undefined
  readonly turns: readonly TurnView[]
  /** The sources that answers cite, by SID. */
  readonly sources: ReadonlyMap<number, SourceRow>
  /** Messages to a running turn that the agent has not read yet. */
  readonly waiting: readonly WaitingMessage[]
  /** The text that is being streamed; undefined as soon as its entry is in the journal. */
  readonly live: LiveRound | undefined
}

/** What a person sees of a turn. */
export interface TurnView {
  readonly id: string
  readonly startedAt: string
  readonly endedAt: string | undefined
  readonly exitReason: string | undefined
  /** Whether the turn ended without a result; false as long as it runs. A turn that a limit or the user ended has not failed. */
  readonly failed: boolean
  readonly prompt: string | undefined
  readonly attachments: readonly FileView[]
  /** What happened between the prompt and the answer, in order. */
  readonly steps: readonly StepView[]
  /** The newest snapshot of each plan that this turn touched. */
  readonly plans: readonly Plan[]
  /** The last is the answer; earlier ones were superseded by a followup. */
  readonly answers: readonly AnswerView[]
  readonly followups: readonly string[]
  readonly questions: readonly string[]
  /** Files that the agent delivered. */
  readonly files: readonly FileView[]
  readonly usage: Required<Omit<Usage, 'cache_write_long'>>
}

/** An answer of the agent. */
export interface AnswerView {
  /** Markdown as the model wrote it, citations included. */
  readonly text: string
  readonly sourcesUsed: readonly number[]
  readonly truncated: boolean
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
/** A notice of the runtime to the model. */
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
/** A summary that replaced older turns at this point. */
export interface SummaryStep {
  readonly kind: 'summary'
  readonly text: string
}

/** A message that was accepted and not read by a turn yet. */
export interface WaitingMessage {
  readonly eventId: string
  readonly kind: 'followup' | 'steer' | 'feedback' | 'external'
  readonly text: string
}

/** The round that is running, and what it has written so far. */
export interface LiveRound {
  readonly turnId: string
  readonly iteration: number
  /** A higher attempt replaces the text of earlier ones. */
  readonly attempt: number
  readonly status: TurnStatus | undefined
  readonly toolId: string | undefined
  readonly error: ServiceError | undefined
  readonly lanes: readonly LiveLane[]
}

/** A text that is being written. */
export interface LiveLane {
  /** The kind of lane: thinking, answer, canvas, timeline_text, subsystem. Kinds may be added. */
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
