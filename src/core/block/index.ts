/** Every type of block that Daybook writes. Other types are legal: they are kept, and shown to nobody. */
export const blockTypes = [
  'turn.header',
  'user.prompt',
  'user.attachment.meta',
  'user.attachment',
  'user.attachment.text',
  'user.followup',
  'user.followup.preserved',
  'user.steer',
  'user.steer.preserved',
  'stage.gate',
  'stage.react',
  'stage.coordinator',
  'stage.feedback',
  'stage.clarification',
  'stage.clarification.resolved',
  'stage.suggested_followups',
  'react.thinking',
  'react.decision.raw',
  'react.notes',
  'react.tool.code',
  'react.tool.call',
  'react.tool.result',
  'react.notice',
  'react.note',
  'react.note.preserved',
  'react.plan',
  'react.plan.ack',
  'react.plan.history',
  'react.plan.preserved',
  'react.completion',
  'react.current_turn.compaction_checkpoint',
  'react.workspace.checkout',
  'react.workspace.publish',
  'assistant.completion',
  'assistant.completion.attempt',
  'assistant.completion.attempt.outcome',
  'agent.log.header',
  'conv.range.summary',
  'conv.working.summary',
  'event.external',
  'turn.feedback',
  'system.message',
] as const

export type BlockType = (typeof blockTypes)[number]

const known: ReadonlySet<string> = new Set(blockTypes)
export const isBlockType = (type: string): type is BlockType => known.has(type)

export {
  type ArtifactKind,
  type BlobRef,
  type Block,
  blobRefsOf,
  blockId,
  blockNumber,
  callIdOf,
  type Draft,
  type HiddenReason,
  type HiddenScope,
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
  logHeaderBlock,
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
