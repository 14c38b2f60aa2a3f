import type { BlockType } from '../block/index.ts'

/**
 * How much of anything may enter a prompt. One table: whatever a renderer prints is cut by an entry of it, and a test that feeds
 * every renderer far too much of everything finds the one that is not. Characters, unless the name says what is counted.
 */
export const caps = {
  // names and addresses
  id: 200,
  name: 255,
  mime: 127,
  path: 1_024,
  labels: 512, // the fixed words of one block: headings, keys, hints

  // what people and the agent said
  userText: 160_000,
  attachmentText: 48_000,
  attachmentSummary: 2_400,
  stageText: 12_000,
  notes: 12_000,
  completion: 64_000,
  feedback: 2_000,
  systemMessage: 4_000,
  sourcesUsed: 100, // sids

  // tools
  code: 12_000,
  callParams: 12_000,
  paramText: 2_000,
  paramPreview: 600,
  paramKeys: 80,
  paramItems: 50,
  writtenContent: 100,
  noticeMessage: 4_000,
  noticeDetails: 4_000,
  errorMessage: 1_000,
  toolResult: 12_000,
  readResult: 64_000, // `react.read` cuts on admission; this only stops what never went through it
  sourceRows: 64_000,
  readPaths: 50,
  shape: 4_000,
  shapeItems: 10,
  shapeDepth: 4,

  // memory
  note: 2_000,
  planSteps: 40,
  planStep: 400,
  planHistory: 16_000,
  summary: 48_000,
  summaryArtifacts: 40,
  checkpoint: 64_000,
  replacement: 1_600,
  hint: 180,

  // images and documents
  binariesPerRound: 8,
  binariesPerInput: 16,
  imageBytes: 5 * 1024 * 1024,
  documentBytes: 10 * 1024 * 1024,
  messageBytes: 25 * 1024 * 1024,

  // tails
  sourcesShown: 60,
  sourceTitle: 36,
  sourcePlace: 120,
  sourceSnippet: 200,
  announceLine: 400,
  announceLines: 12,
  openPlans: 4,
  liveEvents: 4,
  turnRoots: 6,
  workspaceScopes: 12,
  feedbacks: 12,
  announceExtra: 4_000,
  announceExtras: 4,
} as const

export type Caps = { readonly [K in keyof typeof caps]: number }
type Fragment = keyof Caps | readonly [count: keyof Caps, each: keyof Caps]

/** What a block of each type is made of, at most: its caps added up bound what it can cost. */
export const fragments: { readonly [T in BlockType]: readonly Fragment[] } = {
  'turn.header': ['labels', 'id', 'id'],
  'user.prompt': ['labels', 'path', 'userText', 'path'],
  'user.attachment.meta': ['labels', 'name', 'mime', 'attachmentSummary', 'path', 'path'],
  'user.attachment': ['labels', 'mime', 'path'],
  'user.attachment.text': ['labels', 'path', 'attachmentText', 'path'],
  'user.followup': ['labels', 'path', 'userText', 'path'],
  'user.followup.preserved': ['labels', 'path', 'userText', 'path'],
  'user.steer': ['labels', 'path', 'userText', 'path'],
  'user.steer.preserved': ['labels', 'path', 'userText', 'path'],
  'stage.gate': ['labels', 'stageText', 'path'],
  'stage.react': ['labels', 'stageText', 'path'],
  'stage.coordinator': ['labels', 'stageText', 'path'],
  'stage.feedback': ['labels', 'stageText', 'path'],
  'stage.clarification': ['labels', 'stageText', 'path'],
  'stage.clarification.resolved': ['labels', 'stageText', 'path'],
  'stage.suggested_followups': [],
  'react.thinking': [],
  'react.decision.raw': ['labels', 'path', 'stageText', 'path'],
  'react.notes': ['labels', 'notes', 'path'],
  'react.tool.code': ['labels', 'path', 'code', 'path'],
  'react.tool.call': ['labels', 'id', 'id', 'path', 'callParams', 'path'],
  'react.tool.result': ['labels', 'labels', 'id', 'id', 'path', 'path', 'mime', 'readResult', 'shape', 'path', ['readPaths', 'path']],
  'react.notice': ['labels', 'id', 'noticeMessage', 'noticeDetails'],
  'react.note': ['labels', 'note', 'path'],
  'react.note.preserved': ['labels', 'note', 'path'],
  'react.plan': ['labels', 'id', ['planSteps', 'planStep']],
  'react.plan.ack': ['labels', 'stageText', 'path'],
  'react.plan.history': ['labels', 'planHistory', 'path'],
  'react.plan.preserved': [],
  'react.completion': [],
  'react.current_turn.compaction_checkpoint': ['labels', 'checkpoint', 'path'],
  'react.workspace.checkout': [],
  'react.workspace.publish': [],
  'assistant.completion': ['labels', 'path', ['sourcesUsed', 'labels'], 'completion', 'path'],
  'assistant.completion.attempt': ['labels', 'path', 'completion', 'path'],
  'assistant.completion.attempt.outcome': ['labels', 'stageText', 'path'],
  'agent.log.header': ['labels', 'stageText', 'path'],
  'conv.range.summary': ['labels', 'labels', 'path', 'summary', 'path', ['summaryArtifacts', 'path'], 'path'],
  'conv.working.summary': ['labels', 'path', 'stageText', 'path'],
  'event.external': ['labels', 'path', 'stageText', 'path'],
  'turn.feedback': ['labels', 'id', 'id', 'feedback', 'path'],
  'system.message': ['labels', 'systemMessage', 'path'],
}

/** The most characters a block of this type can be shown as. */
export function maxCharsOf(type: BlockType, limits: Caps = caps): number {
  return fragments[type].reduce((sum, part) => sum + (typeof part === 'string' ? limits[part] : limits[part[0]] * limits[part[1]]), 0)
}
