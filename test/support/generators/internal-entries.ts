import fc from 'fast-check'
import {
  type Block,
  type BlockOrigin,
  type BlockType,
  blockId,
  completionBlock,
  type Draft,
  decisionNotesBlock,
  type Meta,
  noticeBlock,
  thinkingBlock,
  toolCallBlock,
  toolCodeBlock,
  toolResultBlock,
} from '../../../src/core/block/index.ts'
import type { TurnEvent } from '../../../src/core/event.ts'
import type { Json } from '../../../src/core/json.ts'
import type { ServiceError } from '../../../src/core/model-event.ts'
import { blocksOfChange, type Change } from '../../../src/core/timeline/change.ts'
import { toPayload } from '../../../src/core/timeline/payload.ts'
import { emptyTimeline } from '../../../src/core/timeline/timeline.ts'
import { failed, resultDrafts, succeeded } from '../../../src/tools/outcome.ts'

/** Texts for users (`open`), texts that users must not see (`internal`), and thinking of the model (`thought`). */
export const [internal, open, thought] = ['SECRET', 'PUBLIC', 'THOUGHT']
const ts = '2026-01-01T00:00:00.000Z'
export const originOf = (round: number): BlockOrigin => ({ turnId: 't1', callId: `c${round}`, iteration: round, ts })

/** Makes the drafts of one or two entries for a round. */
type Part = (origin: BlockOrigin) => readonly (readonly Draft[])[]
type Params = { readonly [name: string]: Json }

const callEntry = (
  origin: BlockOrigin,
  toolId: string,
  params: Params,
  more: { code?: string; visibility?: 'external' | 'internal' } = {},
) => [
  thinkingBlock(origin, thought),
  decisionNotesBlock(origin, open, toolId),
  ...(more.code === undefined ? [] : [toolCodeBlock(origin, more.code)]),
  toolCallBlock(origin, { toolId, params, visibility: more.visibility }),
]

const artifact = (visibility: 'external' | 'internal', text: string, more: { note?: true; channel?: string; digest?: 'internal' } = {}) => {
  const path = `fi:t1.files/${text}.md`
  const channel = more.channel ?? 'canvas'
  const digest = { artifact_path: path, description: text, visibility: more.digest ?? visibility, channel, kind: 'file' as const }
  const content = more.note ? { note: text } : { text }
  return { digest, mime: 'text/markdown', ...content, meta: { visibility, channel, physical_path: `t1/files/${text}.md`, rn: text } }
}

/** Rounds in which only the output of a program is internal. */
export const publicParts: readonly Part[] = [
  (origin) => [
    callEntry(origin, 'weather.today', { city: open }),
    resultDrafts(origin, succeeded({ output: { sky: open } }), { toolId: 'weather.today' }),
  ],
  (origin) => [
    callEntry(origin, 'weather.today', { city: open }),
    resultDrafts(origin, failed('closed', open), { toolId: 'weather.today' }),
  ],
  (origin) => [
    callEntry(origin, 'react.write', { path: open, channel: 'canvas', content: open }),
    resultDrafts(origin, { ok: true, delivered: [artifact('external', open)] }, { toolId: 'react.write' }),
  ],
  (origin) => [
    callEntry(origin, 'react.patch', { path: open, patch: open }, { visibility: 'external' }),
    resultDrafts(origin, { ok: true, delivered: [artifact('external', open, { digest: 'internal' })] }, { toolId: 'react.patch' }),
  ],
  (origin) => [
    callEntry(origin, 'sample.run', { contract: [{ filename: open, description: open }] }, { code: open }),
    resultDrafts(origin, { ok: true, output: internal, delivered: [artifact('external', open)] }, { toolId: 'sample.run', exec: true }),
  ],
  ({ turnId, iteration }) => [[completionBlock(turnId, ts, { text: open, iteration })]],
]

const readers = [
  'react.read',
  'react.hide',
  'react.memsearch',
  'react.search_files',
  'react.search_knowledge',
  'react.pull',
  'react.checkout',
]

/** A block that `react.read` makes when it shows the content of another path. */
const readCopy = (origin: BlockOrigin, path: string, meta: Meta = {}): Draft => ({
  ...toolResultBlock(origin, { mime: 'text/plain', text: internal, meta }),
  path,
})

const internalContract = [
  { filename: open, description: open },
  { filename: internal, description: internal, visibility: 'internal' },
]

const withheldTypes: readonly BlockType[] = [
  'react.note',
  'react.note.preserved',
  'react.decision.raw',
  'react.current_turn.compaction_checkpoint',
  'react.workspace.checkout',
  'react.workspace.publish',
  'conv.range.summary',
  'conv.working.summary',
  'system.message',
  'stage.gate',
  'assistant.completion.attempt.outcome',
  'agent.log.header',
  'future.kind' as BlockType,
  'constructor' as BlockType,
]

const secretBlock = (type: BlockType, meta: Meta = {}): Draft => ({
  type,
  author: 'react',
  turn_id: 't1',
  ts,
  path: `fi:t1.files/${internal}`,
  text: internal,
  payload: { [internal]: internal },
  meta: { ...meta, compaction_digest: internal, [internal]: internal },
})

const secretParts: fc.Arbitrary<Part> = fc.oneof(
  fc.constantFrom<Part>(
    (origin) => [
      callEntry(origin, 'react.write', { path: internal, channel: 'internal', content: internal }),
      resultDrafts(
        origin,
        { ok: true, delivered: [artifact('internal', internal, { note: true, channel: 'internal' })] },
        { toolId: 'react.write' },
      ),
    ],
    (origin) => [
      callEntry(origin, 'react.patch', { path: internal, channel: 'canvas', patch: internal }, { visibility: 'internal' }),
      resultDrafts(
        origin,
        { ok: true, output: { path: internal }, delivered: [artifact('internal', internal)] },
        { toolId: 'react.patch' },
      ),
    ],
    // A patch of a file for users. Its channel is `internal`, so the patch is internal too.
    (origin) => [
      callEntry(origin, 'react.patch', { path: internal, channel: 'internal', patch: internal }, { visibility: 'external' }),
      resultDrafts(
        origin,
        { ok: true, delivered: [artifact('external', internal, { channel: 'internal', digest: 'internal' })] },
        { toolId: 'react.patch' },
      ),
    ],
    // Older journals do not record whether the patched file is internal.
    (origin) => [callEntry(origin, 'react.patch', { path: internal, patch: internal })],
    (origin) => [
      callEntry(origin, 'sample.run', { contract: internalContract, prog_name: internal }, { code: internal }),
      resultDrafts(
        origin,
        { ok: true, output: internal, delivered: [artifact('internal', internal)] },
        { toolId: 'sample.run', exec: true },
      ),
    ],
    (origin) => [
      callEntry(origin, 'sample.run', { contract: JSON.stringify(internalContract) }, { code: internal }),
      resultDrafts(origin, failed('crashed', internal), { toolId: 'sample.run', exec: true }),
    ],
    (origin) => [callEntry(origin, 'sample.run', { contract: [internal] }, { code: internal })],
    (origin) => [callEntry(origin, 'sample.run', { contract: internalContract })],
    (origin) => [[toolCodeBlock(origin, internal)]],
    (origin) => [
      callEntry(origin, 'sample.files', { of: open }),
      resultDrafts(
        origin,
        { ok: true, output: { files: [internal] }, delivered: [artifact('internal', internal)] },
        { toolId: 'sample.files' },
      ),
    ],
    (origin) => [[noticeBlock(origin, { code: 'protocol_violation.x', message: internal, path: internal })]],
    // An output in an older journal. The call is in another entry, so the tool is not known.
    (origin) => [[toolResultBlock(origin, { mime: 'application/json', text: internal })]],
    (origin) => [
      [...callEntry(origin, 'react.memsearch', { query: internal }), toolResultBlock(origin, { mime: 'application/json', text: internal })],
    ],
    (origin) => [
      [readCopy(origin, `fi:t1.files/${internal}.md`, { digest: JSON.stringify({ visibility: 'external', channel: 'internal' }) })],
    ],
    (origin) => [[{ ...toolCallBlock(origin, { toolId: 'a.b', params: {} }), text: internal }]],
  ),
  fc.constantFrom(...readers).map(
    (toolId): Part =>
      (origin) => [
        callEntry(origin, toolId, { paths: [internal], query: internal, replacement_text: internal }),
        resultDrafts(
          origin,
          succeeded({
            output: { hits: [internal] },
            after: [
              readCopy(origin, `fi:t1.files/${internal}.md`, {
                digest: JSON.stringify({ artifact_path: internal, visibility: 'internal' }),
              }),
              readCopy(origin, `fi:t1.files/${internal}.md`),
              readCopy(origin, 'tc:t1.other.call'),
              readCopy(origin, 'ks:a/b', { digest: JSON.stringify({ artifact_path: 'ks:a/b', visibility: 'internal' }) }),
            ],
            notices: [{ code: 'read_paths_missing', message: internal }],
          }),
          { toolId },
        ),
      ],
  ),
  fc.constantFrom(...readers).map(
    (toolId): Part =>
      (origin) => [callEntry(origin, toolId, { path: internal }), resultDrafts(origin, failed('x', internal), { toolId })],
  ),
  fc
    .string({ maxLength: 12 })
    .filter((channel) => channel !== 'canvas' && channel !== 'timeline_text')
    .map(
      (channel): Part =>
        (origin) => [
          callEntry(origin, 'react.write', { path: internal, channel, content: internal }),
          resultDrafts(origin, failed('bad_channel', internal), { toolId: 'react.write' }),
        ],
    ),
  fc.constantFrom(...withheldTypes).map(
    (type): Part =>
      () => [[secretBlock(type)]],
  ),
  fc
    .tuple(
      fc.constantFrom<BlockType>('user.prompt', 'react.notes', 'assistant.completion', 'react.tool.result', 'react.plan'),
      fc.constantFrom<Meta>({ visibility: 'internal' }, { channel: 'internal' }),
    )
    .map(
      ([type, meta]): Part =>
        () => [[secretBlock(type, meta)]],
    ),
)

export const error: ServiceError = {
  kind: 'invalid_request',
  service_name: 'model',
  provider: 'p',
  model_name: 'm',
  error_type: 'E',
  message: internal,
  stage: 'before_output',
  retryable: false,
  context: { quoted: internal },
}

const secretChanges: readonly Change[] = [
  { type: 'blocks.hidden', ids: ['b_1'], replacement_text: internal, reason: 'hide' },
  {
    type: 'response.received',
    turn_id: 't1',
    ts,
    iteration: 0,
    call_id: 'c0',
    raw: internal,
    finish_reason: 'stop',
    error,
    request_hash: 77,
    prompt: { model: 'm', tail: { size: 1, text: internal }, shown: { from: 0, hashes: [1], chain: 1, texts: [internal] } },
  },
  { type: 'event.accepted', event: { event_id: 'e', sequence: 1, kind: 'external', ts, text: open, payload: { source: internal } } },
  { type: 'turn.opened', turn_id: 't1', ts, options: internal } as Change,
]

/**
 * Entries with internal text in every place where a journal can have it. Either each block has its own entry, or all blocks are in one
 * entry.
 */
export const internalEntries: fc.Arbitrary<readonly TurnEvent[]> = fc
  .array(fc.oneof(fc.constantFrom(...publicParts), secretParts, fc.constantFrom(...secretChanges)), { minLength: 1, maxLength: 12 })
  .chain((parts) => fc.tuple(fc.constant(parts), fc.constantFrom('entries', 'whole', 'imported', 'compacted')))
  .map(([parts, how]) => toEntries(parts, how))

function toEntries(parts: readonly (Part | Change)[], how: string): readonly TurnEvent[] {
  let next = 1
  const numbered = (drafts: readonly Draft[]): readonly Block[] => drafts.map((draft) => ({ ...draft, id: blockId(next++) }))
  const changes = parts.flatMap((part, round): readonly Change[] =>
    typeof part === 'function'
      ? part(originOf(round)).map((drafts) => ({ type: 'blocks.appended' as const, blocks: numbered(drafts) }))
      : [part],
  )
  const blocks = changes.flatMap(blocksOfChange)
  const whole: readonly Change[] =
    how === 'entries'
      ? changes
      : how === 'imported'
        ? [{ type: 'timeline.imported', next_block: next, timeline: { ...toPayload(emptyTimeline()), blocks } }]
        : how === 'compacted'
          ? [{ type: 'range.compacted', after_id: 'b_1', blocks, covered: [] }]
          : [{ type: 'blocks.appended', blocks }]
  return whole.map((change, index) => ({ type: 'entry', seq: index + 1, change }))
}
