// Blocks are the items of a timeline. All blocks have the shape `Block`. Each type has its own constructor and reader.

export { artifactContentBlock, artifactDigestBlock, digestText } from './artifact.ts'
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
export {
  type Attachment,
  attachmentBlocks,
  completionBlock,
  userEventBlock,
  userPromptBlock,
} from './message.ts'
export { internalNoteBlock, noteSegments, noteTags, readNote } from './notes.ts'
export { completeBlock, isoTime, parseBlock } from './parse.ts'
export { type Plan, planAckBlock, planBlock, readPlan, type StepStatus, stepStatuses } from './plan.ts'
export { oncePerBlock } from './reader.ts'
export {
  type BlockOrigin,
  type Digest,
  decisionNotesBlock,
  isResultMetadata,
  type Notice,
  noticeBlock,
  parseDigest,
  rawDecisionBlock,
  readDigest,
  readNotice,
  readToolCall,
  resultMetadataBlock,
  thinkingBlock,
  toolCallBlock,
  toolCodeBlock,
  toolResultBlock,
} from './round.ts'
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
  publishNotice,
  readWorkspaceCheckout,
  readWorkspacePublish,
} from './workspace.ts'
