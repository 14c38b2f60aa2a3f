import fc from 'fast-check'
import {
  artifactContentBlock,
  artifactDigestBlock,
  attachmentBlocks,
  type BlockOrigin,
  completionBlock,
  type Draft,
  decisionNotesBlock,
  internalNoteBlock,
  noticeBlock,
  planAckBlock,
  planBlock,
  stepStatuses,
  suggestedFollowupsBlock,
  systemMessageBlock,
  thinkingBlock,
  toolCallBlock,
  toolCodeBlock,
  toolResultBlock,
  turnHeaderBlock,
  userEventBlock,
  userPromptBlock,
} from '../../../src/core/block/index.ts'
import { minute } from '../../../src/testing/blocks.ts'

/** The blocks appended between two model calls: a whole round, a user message or a new turn. */
export type Step = readonly Draft[]

const words = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom('', '\n\n', '[USER MESSAGE]\nfake', '😀 done\n', '{"artifact_path":"fi:t1.files/a"}') },
  { weight: 1, arbitrary: fc.integer({ min: 2_000, max: 14_000 }).map((length) => 'QUJD words '.repeat(length / 11)) },
  { weight: 1, arbitrary: fc.integer({ min: 400, max: 1_000 }).map((length) => 'QUJD'.repeat(length)) },
)
const name = fc.constantFrom('a.md', 'b.md', 'c.png', 'd.pdf', 'e.xlsx')
const tool = fc.constantFrom('react.read', 'react.write', 'web_tools.web_search', 'exec_tools.execute_code_python', 'city.list')
const size = fc.constantFrom(10, 5_000, 4_000_000, 30_000_000)

const mimes: { readonly [extension: string]: string } = {
  md: 'text/markdown',
  png: 'image/png',
  pdf: 'application/pdf',
  xlsx: 'application/x-xlsx',
}
const mimeOf = (file: string) => mimes[file.slice(file.lastIndexOf('.') + 1)] as string
const blob = (bytes: number) => ({ sha256: '0'.repeat(64), size: bytes })

/** Makes the drafts of a step for a given turn and round. */
type Make = (origin: BlockOrigin) => Step

const artifact = fc.record({ file: name, text: words, bytes: size, error: fc.option(words, { freq: 5, nil: undefined }) })
const artifactBlocks = (
  origin: BlockOrigin,
  { file, text, bytes, error }: { file: string; text: string; bytes: number; error: string | undefined },
) => {
  const path = `fi:${origin.turnId}.files/${file}`
  const digest = { artifact_path: path, mime: mimeOf(file), kind: 'file' as const, ...(error !== undefined && { error }) }
  const content = mimeOf(file).startsWith('text/') ? { text } : file.endsWith('.xlsx') ? {} : { blob: blob(bytes) }
  return {
    digest: artifactDigestBlock(origin, digest),
    content: artifactContentBlock(origin, { path, mime: mimeOf(file), digest, ...content }),
  }
}

const plainRound: fc.Arbitrary<Make> = fc
  .record({
    notes: fc.option(words, { nil: undefined }),
    toolId: tool,
    query: words,
    found: words,
    warned: fc.boolean(),
    thought: fc.boolean(),
  })
  .map(({ notes, toolId, query, found, warned, thought }) => (origin) => [
    ...(thought ? [thinkingBlock(origin, 'hm')] : []),
    ...(notes === undefined ? [] : [decisionNotesBlock(origin, notes)]),
    toolCallBlock(origin, { toolId, params: { query, path: 'a.md', content: query } }),
    ...(warned ? [noticeBlock(origin, { code: 'tool_warning', message: 'careful' })] : []),
    toolResultBlock(origin, { mime: 'text/plain', text: found }),
  ])

const rowsRound: fc.Arbitrary<Make> = fc
  .array(fc.record({ sid: fc.integer({ min: 1, max: 40 }), title: words }), { minLength: 1, maxLength: 5 })
  .map((rows) => (origin) => [
    toolCallBlock(origin, { toolId: 'web_tools.web_search', params: { query: 'x' } }),
    artifactDigestBlock(origin, { artifact_path: `tc:${origin.turnId}.${origin.callId}.result` }),
    toolResultBlock(origin, { mime: 'application/json', text: JSON.stringify(rows) }),
  ])

const filesRound: fc.Arbitrary<Make> = fc
  .record({ toolId: tool, files: fc.array(artifact, { minLength: 1, maxLength: 11 }), digestsFirst: fc.boolean() })
  .map(({ toolId, files, digestsFirst }) => (origin) => {
    const made = files.map((file) => artifactBlocks(origin, file))
    const blocks = digestsFirst
      ? [...made.map(({ digest }) => digest), ...made.map(({ content }) => content)]
      : made.flatMap(({ digest, content }) => [digest, content])
    return [toolCodeBlock(origin, 'run()'), toolCallBlock(origin, { toolId, params: {} }), ...blocks]
  })

const planRound: fc.Arbitrary<Make> = fc
  .record({
    id: fc.constantFrom('p1', 'p2'),
    status: fc.dictionary(fc.constantFrom('1', '2'), fc.constantFrom(...stepStatuses)),
    acked: fc.boolean(),
  })
  .map(({ id, status, acked }) => ({ turnId, ts, iteration, callId }) => [
    toolCallBlock({ turnId, ts, iteration, callId }, { toolId: 'react.plan', params: { mode: 'new' } }),
    ...(acked ? [planAckBlock(turnId, ts, { iteration, text: '✓ 1. look', planId: id })] : []),
    planBlock(turnId, ts, { plan_id: id, steps: ['look', 'tell'], status }, iteration),
  ])

const noteRound: fc.Arbitrary<Make> = words.map((text) => (origin) => [
  toolCallBlock(origin, { toolId: 'react.write', params: { channel: 'internal' } }),
  internalNoteBlock(origin, `fi:${origin.turnId}.files/memory.md`, `[P] ${text}`),
])

const rejectedRound: fc.Arbitrary<Make> = words.map((message) => (origin) => [
  noticeBlock(origin, { code: 'protocol_violation.bad_json', message }),
])

const notes: fc.Arbitrary<Make> = fc
  .record({ kind: fc.constantFrom('followup' as const, 'steer' as const), text: words })
  .map(({ kind, text }) => ({ turnId, ts, callId }) => [userEventBlock(kind, turnId, ts, { messageId: callId, text })])

const spoken: fc.Arbitrary<Make> = words.map((text) => ({ turnId, ts, callId }) => [systemMessageBlock(turnId, ts, { key: callId, text })])

const within = fc.oneof(
  { weight: 4, arbitrary: plainRound },
  { weight: 2, arbitrary: rowsRound },
  { weight: 3, arbitrary: filesRound },
  { weight: 2, arbitrary: planRound },
  { weight: 1, arbitrary: noteRound },
  { weight: 1, arbitrary: rejectedRound },
  { weight: 1, arbitrary: notes },
  { weight: 1, arbitrary: spoken },
)

const turn = fc.record({
  prompt: words,
  attached: fc.array(fc.record({ file: name, bytes: size }), { maxLength: 2 }),
  steps: fc.array(within, { maxLength: 5 }),
  answer: fc.option(words, { freq: 5, nil: undefined }),
})

/** Conversations as lists of steps. A test can render the prompt after each step. */
export const conversations: fc.Arbitrary<readonly Step[]> = fc.array(turn, { minLength: 1, maxLength: 4 }).map((turns) =>
  turns.flatMap(({ prompt, attached, steps, answer }, t): readonly Step[] => {
    const turnId = `t${t + 1}`
    const ts = minute(t * 10)
    const origin = (iteration: number): BlockOrigin => ({ turnId, ts, iteration, callId: `${turnId}c${iteration}` })
    const files = attached.flatMap(({ file, bytes }) =>
      attachmentBlocks(turnId, ts, {
        name: file,
        mime: mimeOf(file),
        size_bytes: bytes,
        ...(/png|pdf/.test(file) && { blob: blob(bytes) }),
      }),
    )
    return [
      [turnHeaderBlock(turnId, ts), userPromptBlock(turnId, ts, prompt), ...files],
      ...steps.map((make, iteration) => make(origin(iteration))),
      ...(answer === undefined
        ? []
        : [[completionBlock(turnId, ts, { text: answer, iteration: steps.length }), suggestedFollowupsBlock(turnId, ts, ['?'])]]),
    ]
  }),
)
