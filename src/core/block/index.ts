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

export { assistantCompletion, type Completion } from './assistant.ts'
export { completeBlock, isoTime, type LooseBlock } from './complete.ts'
export { Digest, digestText, readDigest } from './digest.ts'
export {
  type ArtifactKind,
  type BlobRef,
  type Block,
  blockId,
  blockNumber,
  bytesOf,
  callOf,
  type Draft,
  type HiddenReason,
  type HiddenScope,
  isHidden,
  type Meta,
  type Visibility,
} from './envelope.ts'
export { decisionNotes, internalNote, type NoteSegment, noteSegments, noteTags, rawDecision, readNote, thinking } from './note.ts'
export { Notice, notice, readNotice } from './notice.ts'
export { oncePerBlock } from './once.ts'
export { parseBlock } from './parse.ts'
export { Plan, planAck, planSnapshot, readPlan, StepStatus } from './plan.ts'
export { clarification, type StageName, stage, suggestedFollowups } from './stage.ts'
export { artifactContent, artifactDigest, type Place, readToolCall, type ToolCall, toolCall, toolCode, toolResult } from './tool.ts'
export { logHeader, type Reaction, rangeSummary, systemMessage, turnFeedback, turnHeader } from './turn.ts'
export { type Attachment, attachmentBlocks, userEvent, userPrompt } from './user.ts'
export { readWorkspaceCheckout, readWorkspacePublish, workspaceCheckout, workspacePublish } from './workspace.ts'
