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
  blobRefsOf as bytesOf,
  blockId,
  blockNumber,
  callIdOf as callOf,
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
  completionBlock as assistantCompletion,
  userEventBlock as userEvent,
  userPromptBlock as userPrompt,
} from './message.ts'
export {
  decisionNotesBlock as decisionNotes,
  internalNoteBlock as internalNote,
  type NoteSegment,
  noteSegments,
  noteTags,
  rawDecisionBlock as rawDecision,
  readNote,
  thinkingBlock as thinking,
} from './note.ts'
export { completeBlock, type IncompleteBlock as LooseBlock, isoTime, parseBlock } from './parse.ts'
export { Plan, planAckBlock as planAck, planBlock as planSnapshot, readPlan, StepStatus } from './plan.ts'
export { oncePerBlock } from './reader.ts'
export {
  artifactContentBlock as artifactContent,
  artifactDigestBlock as artifactDigest,
  type BlockOrigin as Place,
  Notice,
  noticeBlock as notice,
  readNotice,
  readToolCall,
  type ToolCall,
  toolCallBlock as toolCall,
  toolCodeBlock as toolCode,
  toolResultBlock as toolResult,
} from './tool.ts'
export {
  clarificationBlock as clarification,
  feedbackBlock as turnFeedback,
  logHeaderBlock as logHeader,
  type Reaction,
  rangeSummaryBlock as rangeSummary,
  type StageName,
  stageBlock as stage,
  suggestedFollowupsBlock as suggestedFollowups,
  systemMessageBlock as systemMessage,
  turnHeaderBlock as turnHeader,
} from './turn.ts'
export {
  checkoutBlock as workspaceCheckout,
  publishBlock as workspacePublish,
  readWorkspaceCheckout,
  readWorkspacePublish,
} from './workspace.ts'
