export type { DeletionView } from '../core/api/administration.ts'
export type { BudgetChange, BudgetList, BudgetView } from '../core/api/budget.ts'
export type {
  ConversationChange,
  ConversationQuery,
  ConversationSummary,
  FileSummary,
  ForkRequest,
  NewConversation,
} from '../core/api/conversation.ts'
export type { DoctorView, InfoView, MachineCheck } from '../core/api/info.ts'
export type { DivergenceView, ReplayView, RoundView } from '../core/api/inspection.ts'
export type { ProblemBody } from '../core/api/problem.ts'
export type { CacheRowView, CallView, CostView, EffectsView, PromptBlock, PromptPart, PromptView } from '../core/api/report.ts'
export type { ScheduleBody, ScheduledView, ScheduleList, ScheduleView } from '../core/api/schedule.ts'
export type { SessionView } from '../core/api/session.ts'
export type { ChangedMessageView, FeedbackBody, TurnAccepted, TurnOptionsBody, WithdrawalView } from '../core/api/turn.ts'
export type { TurnResultView } from '../core/api/turn-result.ts'
export type { CompletionBody, DecisionBody, RecordedView, WaitList, WaitView } from '../core/api/waiting.ts'
export type { Block, BlockType, Digest, Meta } from '../core/block/index.ts'
export { type CitedTextFormat, extractSids } from '../core/citations/sids.ts'
export { roughTokens, type TokenCounter } from '../core/estimate/tokens.ts'
export type { EventFormat, NativeFrame, TurnEvent } from '../core/event.ts'
export type { Json } from '../core/json.ts'
export { InvalidOption } from '../core/options.ts'
export type { UserOrTenant } from '../core/scope.ts'
export type { SourceRow } from '../core/sources/source.ts'
export { createOutputReader } from '../core/stream/json/partial.ts'
export { applyChange } from '../core/timeline/apply.ts'
export type { Bundle } from '../core/timeline/bundle.ts'
export type { Change, Wait } from '../core/timeline/change.ts'
export { forkPoint } from '../core/timeline/fork-at.ts'
export type { TimelinePayload } from '../core/timeline/payload.ts'
export { blocksOf, emptyTimeline, type Timeline } from '../core/timeline/timeline.ts'
export type { TurnLog } from '../core/timeline/turn-log.ts'
export { type Client, createClient, type JournalPage } from './client.ts'
export type { FollowOptions } from './follow.ts'
export type { FeedbackOptions, SendOptions } from './options.ts'
export { type ClientOptions, RequestRefused } from './request.ts'
export { type ServerSentEvent, serverSentEvents } from './server-sent-events.ts'
export {
  type AnswerView,
  type ConversationView,
  emptyView,
  type FileView,
  type LiveLane,
  type LiveRound,
  type MessageStep,
  type NotesStep,
  type NoticeStep,
  type ResultView,
  type RunningCall,
  type StepView,
  type SummaryStep,
  type ThinkingStep,
  type ToolStep,
  type TurnView,
  type WaitingMessage,
} from './view/conversation-view.ts'
export { foldEvent } from './view/fold-event.ts'
