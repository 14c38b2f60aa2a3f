// The package `daybook/core`: pure functions and data types. They use no clock, no randomness and no I/O, so that they work in Node,
// browsers and workers.

export type { AnnounceSection } from './announce/announce.ts'
export type { AnnouncedWorkspace, WorkspaceScope } from './announce/workspace-section.ts'
export type { ConversationChange, ConversationQuery, ForkRequest, NewConversation } from './api/conversation.ts'
export type { FeedbackBody, TurnSubmission } from './api/turn.ts'
export type { HiddenReason, HiddenScope, Visibility } from './block/block.ts'
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
  type StepStatus,
} from './block/index.ts'
export type { NoteSegment } from './block/notes.ts'
export type { BlockOrigin, Notice, ToolCall } from './block/round.ts'
export { type Buckets, type CacheReport, type CacheRow, cacheReport } from './cache/cache-report.ts'
export { type CacheBudget, type CacheFinding, defaultCacheBudget, type LintRule, lintCacheReport } from './cache/lint.ts'
export type { BlockDifference, Miss, MissCause } from './cache/misses.ts'
export type { JournalEntry } from './cache/recorded-calls.ts'
export type { ProviderCacheRules, RulesOf } from './cache/rules.ts'
export type { VolatileTextRule } from './cache/volatile-text.ts'
export {
  type BatchOptions,
  type BufferingReplacer,
  type CitationFormat,
  type CitationReplacer,
  type CitationReplacerOptions,
  type CitedSource,
  createCitationReplacer,
  replaceBatch,
  type SourceMap,
} from './citations/replace.ts'
export type { CutEnd } from './citations/scan.ts'
export { type CitedTextFormat, extractSids, rewriteSids } from './citations/sids.ts'
export type { ContractedFile } from './contract/contract.ts'
export type { ChildCall, ChildRecord } from './cost/child-calls.ts'
export { type CallCost, type CostReport, costReport, type Sum } from './cost/cost.ts'
export type { Charge, ChargeOf, Price, PriceOf } from './cost/price.ts'
export type { RoundCost, RoundShare } from './cost/round-cost.ts'
export type { Share } from './cost/shares.ts'
export type { Parameter, ParameterType } from './decision/signature.ts'
export { createEffectsReader, type Effect, type EffectStatus, type EffectsReader } from './effects/effects.ts'
export { roughTokens, type TokenCounter } from './estimate/tokens.ts'
export type { EntryEvent, LaneEvent, StatusEvent, TurnEvent, TurnStatus } from './event.ts'
export type { ExpirySettings } from './expiry/expiry.ts'
export { Failure, type FailureCode } from './failure.ts'
export type { Json, JsonObject } from './json.ts'
export type { Dialect, FinishReason, ModelEvent, ModelUsage, ServiceError, ServiceErrorKind } from './model-event.ts'
export {
  type Area,
  type CodePath,
  canonicalPath,
  type FilePath,
  type FolderPath,
  formatPath,
  type InConversation,
  type KnowledgePath,
  type LatestPlanPath,
  type LogicalPath,
  parsePath,
  type RecordPath,
  type SourcesPath,
  type ToolPath,
  type ToolRecord,
} from './path/logical.ts'
export {
  normalizeTarget,
  type Target,
  type TargetProblem,
  type TargetScope,
  toLogical,
  toPhysical,
  type WritableArea,
} from './path/physical.ts'
export type { SkillPath } from './path/skill.ts'
export type { CachePoints, CachePolicy } from './render/cache-points.ts'
export type { BinaryPart, Part, ShownBlock, Slice, TextPart } from './render/types.ts'
export type { Scope, UserOrTenant } from './scope.ts'
export { type MergeResult, mergeSources, type SourcePool } from './sources/pool.ts'
export {
  defaultEligibleMimes,
  documentEligibleMimes,
  type IncomingSource,
  type SourceFields,
  type SourceRow,
  type SourceType,
} from './sources/source.ts'
export { normalizeUrl } from './sources/url.ts'
export type { StandardIssue, StandardResult, StandardSchemaV1 } from './standard-schema.ts'
export type { Channel, ChannelEvent, ChannelFormat } from './stream/channel.ts'
export { type ChannelParser, createChannelParser } from './stream/channel-parser.ts'
export { type CompositeField, type CompositeReader, type CompositeSettings, createCompositeReader } from './stream/composite.ts'
export type { JsonEvent, JsonPath, JsonRepair, JsonValue } from './stream/json/event.ts'
export { type JsonProblem, type ParsedJson, parseModelJson } from './stream/json/parse.ts'
export { createJsonReader, type JsonReader, type ReaderProblem } from './stream/json/reader.ts'
export type { CreateReplacer, LaneDelta, LaneEnd, LaneExtra, TextRewriter } from './stream/lane.ts'
export { createLanes, type DeliveredAnswer, type LaneSettings, type Lanes } from './stream/lanes.ts'
export { applyChange } from './timeline/apply.ts'
export type { BlockBuffer, BlockIndex, BlockKind, BufferEdit, Outline, TurnRange } from './timeline/block-buffer.ts'
export { type Bundle, parseBundle } from './timeline/bundle.ts'
export type {
  BlocksAppended,
  BlocksHidden,
  CallFinished,
  Change,
  FrozenTexts,
  RangeCompacted,
  ReachedLimit,
  ResponseReceived,
  StoredOutcome,
  TurnClosed,
  TurnOpened,
  TurnResumed,
  TurnWaiting,
  Wait,
  WaitKind,
} from './timeline/change.ts'
export type { InboxEvent, InboxEventKind, MessageKind } from './timeline/inbox-event.ts'
export { type TimelinePayload, toPayload } from './timeline/payload.ts'
export type { PromptRecord, RetriedAttempt, ShownFingerprints, SystemFingerprint, Usage } from './timeline/response-record.ts'
export {
  blocksAtPath,
  blocksOf,
  type CacheTouch,
  emptyTimeline,
  type OpenTurn,
  type Timeline,
} from './timeline/timeline.ts'
export type { TurnLog } from './timeline/turn-log.ts'
