// Blocks are the entries of a timeline. All have the same shape; the types have their own constructors and readers.
export {
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
  isHidden,
  type Meta,
  type Visibility,
} from './block.ts'
export { Digest, digestText, readDigest } from './digest.ts'
export {
  type Attachment,
  attachmentBlocks,
  completionBlock,
  userEventBlock,
  userPromptBlock,
} from './message.ts'
export {
  decisionNotesBlock,
  internalNoteBlock,
  noteSegments,
  noteTags,
  rawDecisionBlock,
  readNote,
  thinkingBlock,
} from './note.ts'
export { completeBlock, isoTime, parseBlock } from './parse.ts'
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
  toolCallBlock,
  toolCodeBlock,
  toolResultBlock,
} from './tool.ts'
export {
  clarificationBlock,
  feedbackBlock,
  type Reaction,
  rangeSummaryBlock,
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
