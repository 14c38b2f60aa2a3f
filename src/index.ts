export {
  type Attachment,
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
export { Failure, type FailureCode } from './core/failure.ts'
export { canonicalPath, formatPath, type LogicalPath, parsePath } from './core/path/logical.ts'
export { toLogical, toPhysical } from './core/path/physical.ts'
export { normalizeTarget, type Target } from './core/path/target.ts'
export { defaultEligibleMimes, documentEligibleMimes } from './core/sources/eligible.ts'
export { mergeSources, type SourcePool } from './core/sources/merge.ts'
export type { IncomingSource, SourceRow } from './core/sources/source.ts'
export { normalizeUrl } from './core/sources/url.ts'
export { applyChange } from './core/timeline/apply.ts'
export { type Bundle, parseBundle } from './core/timeline/bundle.ts'
export type { Change } from './core/timeline/change.ts'
export { type TimelinePayload, toPayload } from './core/timeline/payload.ts'
export { blocksAtPath, blocksOf, emptyTimeline, type Timeline } from './core/timeline/timeline.ts'
export type { TurnLog } from './core/timeline/turn-log.ts'
export type { BlobStore } from './ports/blobs.ts'
export type { Clock } from './ports/clock.ts'
export type { Claim, ConversationStore, Entry, Owner, Saved } from './ports/store.ts'
