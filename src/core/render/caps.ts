/**
 * Upper limits for the texts and lists in a prompt. Most limits count characters. A name that ends in `Bytes` counts bytes. The limits for
 * lists, such as `paramItems`, count items. Every text that a renderer prints has one of these limits, which caps.test.ts checks.
 */
export const caps = {
  // names and addresses
  id: 200,
  name: 255,
  mime: 127,
  path: 1_024,
  labels: 512, // for the fixed text of one block: headings, keys and hints

  // messages of the user and the agent
  userText: 160_000,
  attachmentText: 48_000,
  attachmentSummary: 2_400,
  stageText: 12_000,
  notes: 12_000,
  completion: 64_000,
  feedback: 2_000,
  systemMessage: 4_000,
  sourcesUsed: 100, // counts SIDs

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
  readResult: 64_000, // `react.read` has limits of its own, which are usually lower
  sourceRows: 64_000,
  readPaths: 50,
  shape: 4_000,
  shapeItems: 10,
  shapeDepth: 4,

  // notes, plans and summaries
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

  // the source pool and the announce, at the end of the prompt
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
