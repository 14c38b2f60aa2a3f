import type { Plan } from '../../core/block/index.ts'
import type { TurnStatus } from '../../core/event.ts'
import type { ServiceError } from '../../core/model-event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { Usage } from '../../core/timeline/change.ts'

/** A conversation as a person sees it. A value: every event gives a new one that shares what did not change. */
export interface ConversationView {
  /** The latest entry that is in it: where a follower resumes. */
  readonly lastSeq: number
  readonly title: string | undefined
  readonly turns: readonly TurnView[]
  /** By SID; what the answers cite. */
  readonly sources: ReadonlyMap<number, SourceRow>
  /** Said to a running turn, and not taken notice of yet. */
  readonly waiting: readonly WaitingMessage[]
  /** What is being written right now. Gone as soon as it is entered. */
  readonly live: LiveRound | undefined
}

export interface TurnView {
  readonly id: string
  readonly startedAt: string
  readonly endedAt: string | undefined
  readonly exitReason: string | undefined
  readonly prompt: string | undefined
  readonly attachments: readonly FileView[]
  /** Everything between the question and the answer, in order. */
  readonly steps: readonly StepView[]
  /** The newest snapshot of each plan that this turn touched. */
  readonly plans: readonly Plan[]
  /** The last is the answer; the ones before it were withdrawn by what came in between. */
  readonly answers: readonly AnswerView[]
  readonly followups: readonly string[]
  readonly questions: readonly string[]
  /** Made by the agent and handed over. */
  readonly files: readonly FileView[]
  readonly usage: Required<Omit<Usage, 'cache_write_long'>>
}

export interface AnswerView {
  /** Markdown as the model wrote it, citations included. */
  readonly text: string
  readonly sourcesUsed: readonly number[]
  readonly truncated: boolean
}

export interface FileView {
  readonly path: string
  readonly filename: string
  readonly mime: string | undefined
  readonly size: number | undefined
  /** Its name for `/v1/resources/`; without it, it was not handed over. */
  readonly rn: string | undefined
  readonly description: string | undefined
}

export type StepView = ThinkingStep | NotesStep | ToolStep | NoticeStep | MessageStep | SummaryStep

export interface ThinkingStep {
  readonly kind: 'thinking'
  readonly iteration: number
  readonly text: string
}
export interface NotesStep {
  readonly kind: 'notes'
  readonly iteration: number
  readonly text: string
}
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
export interface ResultView {
  readonly path: string | undefined
  readonly mime: string | undefined
  readonly text: string | undefined
}
export interface NoticeStep {
  readonly kind: 'notice'
  readonly code: string
  readonly message: string
}
/** What somebody said while the turn was running. */
export interface MessageStep {
  readonly kind: 'message'
  readonly from: 'followup' | 'steer' | 'external'
  readonly text: string
}
/** Older turns were folded into a summary here. */
export interface SummaryStep {
  readonly kind: 'summary'
  readonly text: string
}

export interface WaitingMessage {
  readonly eventId: string
  readonly kind: 'followup' | 'steer' | 'feedback' | 'external'
  readonly text: string
}

export interface LiveRound {
  readonly turnId: string
  readonly iteration: number
  /** A higher attempt withdraws what an earlier one showed. */
  readonly attempt: number
  readonly status: TurnStatus | undefined
  readonly toolId: string | undefined
  readonly error: ServiceError | undefined
  readonly lanes: readonly LiveLane[]
}

export interface LiveLane {
  /** thinking, answer, canvas, timeline_text, subsystem: an open set. */
  readonly marker: string
  readonly artifactName: string | undefined
  readonly format: string
  readonly text: string
  readonly completed: boolean
}

export const emptyView: ConversationView = {
  lastSeq: 0,
  title: undefined,
  turns: [],
  sources: new Map(),
  waiting: [],
  live: undefined,
}
