export type { Agent } from './agent/agent.ts'
export type { Problem } from './agent/agent-context.ts'
export type { FollowOptions } from './agent/events/follow.ts'
export type { TurnHandle } from './agent/events/turn-handle.ts'
export type { FoldedEvent, HookFunctions } from './agent/hooks.ts'
export type { Accepted, EventOptions, FeedbackOptions, NotifyOptions, RunOptions, SendOptions, SteerOptions } from './agent/message.ts'
export { lintAgent, type StandingParts } from './agent/prompts/lint.ts'
export { type Divergence, divergenceText } from './agent/replay/divergence.ts'
export { type Replayed, replay } from './agent/replay/replay.ts'
export type { ReplayParts } from './agent/replay/setup.ts'
export { type AgentSettings, defaultAgentSettings } from './agent/settings.ts'
export { streamWithChannels } from './agent/stream-with-channels/stream.ts'
export {
  type ChannelResult,
  type ChannelSpec,
  type ChannelStream,
  type ChannelSubscribers,
  type Composite,
  type Delta,
  type Emit,
  type StreamMeta,
  StreamPolicyViolation,
  type StreamWithChannelsOptions,
  type Subscriber,
  type SubscriberFactory,
} from './agent/stream-with-channels/types.ts'
export type { ExitReason, TurnResult } from './agent/turn/finish.ts'
export {
  type BlobRef,
  type Block,
  type BlockType,
  blockTypes,
  type Digest,
  type Draft,
  type Meta,
  type Plan,
  parseBlock,
  readDigest,
  readNote,
  readNotice,
  readPlan,
  readToolCall,
} from './core/block/index.ts'
export { type CacheReport as CacheLedger, type CacheRow, cacheReport as cacheLedger } from './core/cache/cache-report.ts'
export { type CacheBudget, type CacheFinding, defaultCacheBudget, lintCacheReport as lintLedger } from './core/cache/lint.ts'
export type { Miss, MissCause } from './core/cache/misses.ts'
export type { JournalEntry } from './core/cache/recorded-calls.ts'
export type { ProviderCacheRules, RulesOf } from './core/cache/rules.ts'
export { createCitationReplacer, replaceBatch } from './core/citations/replace.ts'
export { extractSids, rewriteSids } from './core/citations/sids.ts'
export type { ContractedFile } from './core/contract/contract.ts'
export { type CallCost, type CostReport as CostLedger, costReport as costLedger, type Sum } from './core/cost/cost.ts'
export type { Charge, ChargeOf, Price, PriceOf } from './core/cost/price.ts'
export type { EntryEvent, LaneEvent, StatusEvent, TurnEvent } from './core/event.ts'
export { Failure, type FailureCode } from './core/failure.ts'
export type { FinishReason, ModelEvent, ModelUsage, ServiceError } from './core/model-event.ts'
export { canonicalPath, formatPath, type LogicalPath, parsePath } from './core/path/logical.ts'
export { normalizeTarget, type Target, toLogical, toPhysical } from './core/path/physical.ts'
export { mergeSources, type SourcePool } from './core/sources/pool.ts'
export type { IncomingSource, SourceRow } from './core/sources/source.ts'
export { defaultEligibleMimes, documentEligibleMimes } from './core/sources/source.ts'
export { normalizeUrl } from './core/sources/url.ts'
export type { StandardSchemaV1 } from './core/standard-schema.ts'
export { createChannelParser } from './core/stream/channel-parser.ts'
export { createCompositeReader } from './core/stream/composite.ts'
export { parseModelJson } from './core/stream/json-parse.ts'
export { createJsonReader } from './core/stream/json-reader.ts'
export type { LaneDelta } from './core/stream/lane.ts'
export { createLanes } from './core/stream/lanes.ts'
export { applyChange } from './core/timeline/apply.ts'
export { type Bundle, parseBundle } from './core/timeline/bundle.ts'
export type { Change, InboxEvent } from './core/timeline/change.ts'
export { type TimelinePayload, toPayload } from './core/timeline/payload.ts'
export { blocksAtPath, blocksOf, emptyTimeline, type Timeline } from './core/timeline/timeline.ts'
export type { TurnLog } from './core/timeline/turn-log.ts'
export type { BlobStore } from './ports/blobs.ts'
export type { Clock } from './ports/clock.ts'
export type { Model, ModelRequest, ModelRole } from './ports/model.ts'
export type { Claim, ConversationStore, Entry, Owner, Saved } from './ports/store.ts'
export type { AttachmentPolicy } from './tools/attachments/policy.ts'
export type { AttachmentLimits, Finding, Rejection, RejectionReason, Upload } from './tools/attachments/upload.ts'
export { defineTool, type ToolDefinition } from './tools/define.ts'
export { type Envelope, failed, type Returned, succeeded } from './tools/outcome.ts'
export type { MemoryFindings, MemoryHit, MemoryQuery, MemorySearch } from './tools/react/memsearch.ts'
export type { KnowledgeHit, KnowledgeQuery, KnowledgeSearch } from './tools/react/search-knowledge.ts'
export type { Knowledge, KnowledgeItem, Skill, Skills } from './tools/read/knowledge.ts'
export type { Call, MadeArtifact, Outcome, Tool, ToolError } from './tools/tool.ts'
export { type AgentOptions, bookkeeping, createAgent, openStore } from './wiring.ts'
