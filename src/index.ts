// The package entry `daybook`: agents, tools and their types. Pure functions are in `daybook/core`. Implementations of the ports are in
// `daybook/adapters/…`.

export type { AgentParts } from './agent/agent.ts'
export type { Models, Problem } from './agent/agent-context.ts'
export type { Agent } from './agent/agent-interface.ts'
export { type AgentToolOptions, agentTool, childConversationId } from './agent/agent-tool.ts'
export type { Administration } from './agent/archive/administration.ts'
export type { Archive, DownloadableFile } from './agent/archive/archive.ts'
export type { DeletionReceipt, OwnerDeletion, Remainder } from './agent/archive/delete-owner.ts'
export type { HeldLease, TenantSummary } from './agent/archive/overview.ts'
export type { Recalled, RecallQuery } from './agent/archive/search-conversations.ts'
export type { StoredResult } from './agent/archive/stored-result.ts'
export type { RoundReport, UsageReport } from './agent/archive/usage-report.ts'
export type { Budget, BudgetAmount, BudgetControl, BudgetLimits, BudgetPage } from './agent/budgets/budget-control.ts'
export type { SteerMode } from './agent/conversation/inbox.ts'
export type { Bookkeeping } from './agent/conversation/spending.ts'
export type { WaitingMessages, WithdrawalState } from './agent/conversation/waiting-messages.ts'
export type { FollowOptions } from './agent/events/follow.ts'
export type { PartialOutput, TurnHandle } from './agent/events/turn-handle.ts'
export type { UntilClosedOptions } from './agent/events/until-closed.ts'
export type { AnnouncedRound, AnnounceFunction, FoldedEvent, HookFunctions } from './agent/hooks.ts'
export type { Accepted, EventOptions, FeedbackOptions, NotifyOptions, RunOptions, SendOptions, SteerOptions } from './agent/message.ts'
export { lintAgent, type StandingParts } from './agent/prompts/lint.ts'
export type { RecoverOptions, Recovery, SkippedConversation } from './agent/recovery/recover.ts'
export type { AgentAbout } from './agent/replaceable-parts.ts'
export {
  type BlockDivergence,
  type DecisionDivergence,
  type Divergence,
  type DivergencePlace,
  divergenceText,
  type PromptDivergence,
} from './agent/replay/divergence.ts'
export type { Replayed } from './agent/replay/replay.ts'
export type { RecordedStore, ReplayParts } from './agent/replay/setup.ts'
export type { Scheduled, ScheduleOptions, Scheduling } from './agent/schedules.ts'
export {
  type AgentSettings,
  type BudgetSettings,
  defaultAgentSettings,
  type ModelSettings,
  type SourceSettings,
} from './agent/settings.ts'
export { streamWithChannels } from './agent/stream-with-channels/stream.ts'
export {
  type ChannelResult,
  type ChannelSpec,
  type ChannelStream,
  type ChannelSubscribers,
  type Composite,
  type CompositeDelta,
  type Delta,
  type Emit,
  type ParsedPayload,
  type StreamMeta,
  StreamPolicyViolation,
  type StreamProblem,
  type StreamWithChannelsOptions,
  type Subscriber,
  type SubscriberFactory,
} from './agent/stream-with-channels/types.ts'
export type { BuiltInOptions } from './agent/tools.ts'
export { jsonSchema, type OutputRefusal } from './agent/turn/output.ts'
export type { ExitReason, TurnResult, TurnTimings } from './agent/turn/result.ts'
export type { ToolsFor, TurnChoices, TurnToOffer } from './agent/turn/turn-options.ts'
export type { CompleteOptions, Completion, Decision, Recorded, Waiting, WaitingPage, WaitingQuery, WaitingTurns } from './agent/waiting.ts'
export type { TurnWait } from './agent/waits/describe-wait.ts'
export type { WorkOptions } from './agent/work/worker.ts'
export type { BlobRef, Block, Digest, Draft, Meta } from './core/block/index.ts'
export type { CacheFinding } from './core/cache/lint.ts'
export type { ContractedFile } from './core/contract/contract.ts'
export type { TurnCost, TurnUsage } from './core/cost/turn-usage.ts'
export type { EntryEvent, LaneEvent, StatusEvent, TurnEvent } from './core/event.ts'
export { Failure, type FailureCode } from './core/failure.ts'
export type { Json, JsonObject } from './core/json.ts'
export type { Dialect, FinishReason, ModelEvent, ModelUsage, ServiceError } from './core/model-event.ts'
export { InvalidOption } from './core/options.ts'
export type { Amount, AmountLimits, BudgetKind, BudgetSums, RequestedAmount } from './core/shared-budget.ts'
export type { OutputOf, StandardSchemaV1 } from './core/standard-schema.ts'
export { createOutputReader } from './core/stream/json/partial.ts'
export type { Bundle } from './core/timeline/bundle.ts'
export type { Change, StoredTurnOptions, Wait, WaitKind } from './core/timeline/change.ts'
export type { Timeline } from './core/timeline/timeline.ts'
export type { TurnLog } from './core/timeline/turn-log.ts'
export type * from './ports/blobs.ts'
export type * from './ports/clock.ts'
export type * from './ports/documents.ts'
export type * from './ports/embedder.ts'
export type * from './ports/files.ts'
export type * from './ports/hosting.ts'
export type * from './ports/knowledge.ts'
export type * from './ports/mcp.ts'
export type {
  McpAddress,
  McpConfiguration,
  McpOAuth,
  McpProgram,
  McpServerConfiguration,
  McpServerLimits,
} from './ports/mcp-configuration.ts'
export type * from './ports/model.ts'
export type * from './ports/sandbox.ts'
export type * from './ports/skills.ts'
export type * from './ports/store/budgets.ts'
export type * from './ports/store/limits.ts'
export type * from './ports/store/list.ts'
export type * from './ports/store/memory-index.ts'
export type * from './ports/store/receipts.ts'
export type * from './ports/store/relay.ts'
export type * from './ports/store/retention.ts'
export type * from './ports/store/schedules.ts'
export type * from './ports/store/work-list.ts'
export type * from './ports/store.ts'
export type * from './ports/web.ts'
export type * from './ports/workspace.ts'
export type { Approval, ApprovalFunction, ApprovalRule, CallToApprove } from './tools/approval.ts'
export type { AttachmentPolicy, Scanner, Summariser } from './tools/attachments/policy.ts'
export type { AttachmentLimits, Finding, Rejection, RejectionReason, Upload } from './tools/attachments/upload.ts'
export { defineTool, type ToolDefinition } from './tools/define.ts'
export { type Envelope, failed, later, type OutcomeParts, type Returned, succeeded } from './tools/outcome.ts'
export type { MemoryFindings, MemoryHit, MemoryQuery, MemorySearch, MemoryTarget } from './tools/react/memsearch.ts'
export type { ReadOptions } from './tools/react/read.ts'
export type { ReadLimits } from './tools/read/window.ts'
export type {
  Call,
  ExecReport,
  LateResult,
  LookUp,
  MadeArtifact,
  Outcome,
  Parameter,
  Question,
  Records,
  Reply,
  Strategy,
  Tool,
  ToolError,
  VisiblePrompt,
} from './tools/tool.ts'
export { createWebTools, type WebToolOptions } from './tools/web/index.ts'
export type { PageParts } from './tools/web/page.ts'
export type { Refiner } from './tools/web/refine.ts'
export { type AgentOptions, createAgent, replay } from './wiring/agent.ts'
export { type AgentDefinition, defineAgent, type ModelChoices } from './wiring/define-agent.ts'
export { type BucketOptions, openStore, type StoreOptions } from './wiring/store.ts'
