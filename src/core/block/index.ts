/** Blocks, the entries of a timeline: one shape, one constructor and one reader per type. */
export {
  type ArtifactKind,
  type BlobRef,
  type Block,
  type BlockType,
  blobRefsOf,
  blockId,
  blockNumber,
  blockTypes,
  callIdOf,
  type Draft,
  type HiddenReason,
  type HiddenScope,
  isBlockType,
  isHidden,
  type Meta,
  type Visibility,
} from './block.ts'
export { Digest, digestText, readDigest } from './digest.ts'
export {
  type Attachment,
  attachmentBlocks,
  type Completion,
  completionBlock,
  userEventBlock,
  userPromptBlock,
} from './message.ts'
export {
  decisionNotesBlock,
  internalNoteBlock,
  type NoteSegment,
  noteSegments,
  noteTags,
  rawDecisionBlock,
  readNote,
  thinkingBlock,
} from './note.ts'
export { completeBlock, type IncompleteBlock, isoTime, parseBlock } from './parse.ts'
export { Plan, planAckBlock, planBlock, readPlan, StepStatus } from './plan.ts'
export { oncePerBlock } from './reader.ts'
export {
  artifactContentBlock,
  artifactDigestBlock,
  type BlockOrigin,
  Notice,
  noticeBlock,
  readNotice,
  readToolCall,
  type ToolCall,
  toolCallBlock,
  toolCodeBlock,
  toolResultBlock,
} from './tool.ts'
export {
  clarificationBlock,
  feedbackBlock,
  type Reaction,
  rangeSummaryBlock,
  type StageName,
  stageBlock,
  suggestedFollowupsBlock,
  systemMessageBlock,
  turnHeaderBlock,
} from './turn.ts'
export {
  checkoutBlock,
  publishBlock,
  readWorkspaceCheckout,
  readWorkspacePublish,
} from './workspace.ts'
