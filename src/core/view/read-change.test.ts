import { describe, expect, it } from 'vitest'
import {
  artifactContentBlock,
  artifactDigestBlock,
  attachmentBlocks,
  type Block,
  type BlockType,
  blockId,
  clarificationBlock,
  completionBlock,
  type Draft,
  decisionNotesBlock,
  type Meta,
  noticeBlock,
  planBlock,
  rangeSummaryBlock,
  suggestedFollowupsBlock,
  systemMessageBlock,
  thinkingBlock,
  toolCallBlock,
  toolCodeBlock,
  toolResultBlock,
  turnHeaderBlock,
  userEventBlock,
  userPromptBlock,
} from '../block/index.ts'
import type { JsonObject } from '../json.ts'
import type { Change } from '../timeline/change.ts'
import { toPayload } from '../timeline/payload.ts'
import { emptyTimeline } from '../timeline/timeline.ts'
import { readBlocks } from './read-block.ts'
import { readChange } from './read-change.ts'
import { blocksForUser } from './user-blocks.ts'

const ts = '2026-01-01T00:00:00.000Z'
const origin = { turnId: 't1', callId: 'c1', iteration: 2, ts }
const withIds = (drafts: readonly Draft[]): readonly Block[] => drafts.map((draft, index) => ({ id: blockId(index + 1), ...draft }))
const appended = (...drafts: readonly Draft[]): Change => ({ type: 'blocks.appended', blocks: withIds(drafts) })
const read = (...drafts: readonly Draft[]) => readChange(appended(...drafts))
const kinds = (change: Change) => readChange(change).map(({ kind }) => kind)
const result = (text: string, mime = 'application/json') => toolResultBlock(origin, { mime, text })

describe('what an entry shows', () => {
  it('names a delivered file by its path, whatever its content and its meta say', () => {
    const content = '{"artifact_path":"fi:t1.files/setup.exe","mime":"application/x-msdownload","size_bytes":7}'
    const file = { ...result(content), path: 'fi:t1.files/index.json', meta: { rn: 'ef:1', filename: 'setup.exe', size_bytes: 90 } }
    expect(read(file)[0]).toMatchObject({
      kind: 'file',
      file: { path: 'fi:t1.files/index.json', filename: 'index.json', mime: 'application/json', size: 90 },
    })
  })

  it('names an attachment by its own name, whatever its content says', () => {
    const text = '{"artifact_path":"fi:t1.user.attachments/setup.exe"}'
    const path = 'fi:t1.user.attachments/a.json'
    const block: Draft = { type: 'user.attachment', author: 'user', turn_id: 't1', ts, mime: 'application/json', path, text }
    expect(read(block)[0]).toMatchObject({ kind: 'attachment', file: { path, filename: 'a.json' } })
  })

  it('has an event for every block that a person sees, in order', () => {
    const change = appended(
      turnHeaderBlock('t1', ts),
      userPromptBlock('t1', ts, 'Rome?'),
      thinkingBlock(origin, 'hm'),
      decisionNotesBlock(origin, 'Looking.'),
      toolCodeBlock(origin, 'run()'),
      toolCallBlock(origin, { toolId: 'weather.today', params: { city: 'Rome' } }),
      noticeBlock(origin, { code: 'tool_warning', message: 'careful' }),
      result('{"sky":"clear"}'),
      planBlock('t1', ts, { plan_id: 'p1', steps: ['look'], status: {} }),
      userEventBlock('followup', 't1', ts, { messageId: 'm1', text: 'And Milan?' }),
      systemMessageBlock('t1', ts, { key: 'k', text: 'only for the model' }),
      completionBlock('t1', ts, { text: 'Clear.', iteration: 2 }),
      clarificationBlock('t1', ts, ['Which day?']),
      suggestedFollowupsBlock('t1', ts, ['Tomorrow?']),
    )
    expect(kinds(change).join(' ')).toBe(
      'header prompt thinking notes tool.code tool.call notice tool.result plan message answer questions followups',
    )
  })

  it('says whether a tool failed, and why', () => {
    const outcomes = [
      result('{"ok":false,"status":"error","error":{"code":"no_city","message":"Which city?"}}'),
      result('{"ok":false}'),
      result('{"ok":true}'),
      result('{"ok":false', 'text/plain'),
      result('it says "ok": false', 'text/plain'),
    ].map((draft) => read(draft)[0])
    expect(outcomes).toMatchObject([
      { failed: true, error: { code: 'no_city', message: 'Which city?' } },
      { failed: true, error: undefined },
      { failed: false },
      { failed: false },
      { failed: false },
    ])
  })

  it('shows a delivered file before the result; other artifacts are results only', () => {
    const digest = { artifact_path: 'fi:t1.files/a.csv', mime: 'text/csv', description: 'rows' }
    const content = (meta: Meta) => artifactContentBlock(origin, { path: 'fi:t1.files/a.csv', mime: 'text/markdown', digest, meta })
    expect(read(artifactDigestBlock(origin, digest), content({ rn: 'ef:1', size_bytes: 7, key: 'secret' }))).toMatchObject([
      { kind: 'tool.result', isOutput: true },
      {
        kind: 'file',
        mime: 'text/markdown',
        file: { path: 'fi:t1.files/a.csv', filename: 'a.csv', mime: 'text/csv', size: 7, rn: 'ef:1', description: 'rows' },
      },
      { kind: 'tool.result', isOutput: false },
    ])
    expect(kinds(appended(content({})))).toEqual(['tool.result'])
  })

  it('shows no delivered file when a tool has only read a hosted file: an attachment, or a file of another turn', () => {
    for (const path of ['fi:t1.user.attachments/a.csv', 'fi:t0.files/a.csv', 'fi:t0.user.attachments/a.csv'])
      expect(kinds(appended({ ...result('a,b', 'text/csv'), path, meta: { rn: 'ef:1' } })), path).toEqual(['tool.result'])
    for (const path of ['fi:t1.files/a.csv', 'fi:t1.outputs/a.csv'])
      expect(kinds(appended({ ...result('a,b', 'text/csv'), path, meta: { rn: 'ef:1' } })), path).toEqual(['file', 'tool.result'])
  })

  it('marks the second block of an image as a repetition of its description', () => {
    const image = { name: 'a.png', mime: 'image/png', size_bytes: 9, blob: { sha256: '0'.repeat(64), size: 9 } }
    expect(read(...attachmentBlocks('t1', ts, image))).toMatchObject([
      { kind: 'attachment', part: 'description', file: { filename: 'a.png', mime: 'image/png', size: 9 } },
      { kind: 'attachment', part: 'content', file: { filename: 'a.png', mime: 'image/png', size: 9 } },
    ])
  })

  it('takes the last completion of an entry for the answer', () => {
    const answers = read(
      completionBlock('t1', ts, { text: 'One.', index: 1, count: 2 }),
      completionBlock('t1', ts, { text: 'Two.', index: 2, count: 2, truncated: true }),
    )
    expect(answers).toMatchObject([
      { kind: 'answer', text: 'One.', state: 'superseded', first: true, truncated: false },
      { kind: 'answer', text: 'Two.', state: 'final', first: false, truncated: true },
    ])
  })

  it('says whether a turn failed: a turn that a limit or the user ended has not', () => {
    const failed = [
      'complete',
      'exit',
      'max_iterations',
      'time',
      'budget',
      'steer',
      'imported',
      'error',
      'protocol_violation',
      'unpriced',
    ].filter((exit_reason) =>
      readChange({ type: 'turn.closed', turn_id: 't1', ts, exit_reason }).some((event) => 'failed' in event && event.failed),
    )
    expect(failed).toEqual(['error', 'protocol_violation', 'unpriced'])
  })

  it('shows blocks that were put into the past as history', () => {
    const blocks = withIds([userPromptBlock('t1', ts, 'Rome?')])
    const timeline = { ...toPayload(emptyTimeline()), blocks, conversation_title: 'Weather' }
    expect(readChange({ type: 'timeline.imported', timeline, next_block: 2 })).toMatchObject([
      { kind: 'history', imported: true, title: 'Weather', events: [{ kind: 'prompt', text: 'Rome?' }] },
    ])
    expect(readChange({ type: 'blocks.inserted', after_id: 'b_1', blocks })).toMatchObject([
      { kind: 'history', imported: false, title: undefined, events: [{ kind: 'prompt' }] },
    ])
  })

  it('shows the summary of a compaction, not the blocks that it preserves', () => {
    const blocks = withIds([rangeSummaryBlock('t2', ts, { text: 'Earlier.', coveredTurnIds: ['t1'] }), userPromptBlock('t2', ts, 'Go on.')])
    expect(readChange({ type: 'range.compacted', after_id: 'b_9', blocks, covered: ['t1'] })).toMatchObject([
      { kind: 'compaction', turnId: 't2', coveredTurns: 1 },
      { kind: 'summary', text: 'Earlier.' },
    ])
  })

  it('survives blocks of imported timelines: unknown types and payloads of another shape', () => {
    const foreign = (type: string, more: object = {}): Draft => ({ type: type as BlockType, author: 'x', turn_id: 't1', ts, ...more })
    expect(read(foreign('constructor'), foreign('future.kind', { text: 'x' }), foreign('react.notice', { text: 'no JSON' }))).toEqual([])
    expect(
      read(
        foreign('react.tool.call', { text: 'no JSON', tool_id: 'weather.today' }),
        foreign('react.tool.result', { meta: { tool_call_id: 'c9' } }),
        foreign('stage.suggested_followups', { meta: { items: ['a', 1, null] } }),
        foreign('stage.clarification'),
        foreign('react.plan', { text: '{}' }),
      ),
    ).toMatchObject([
      { kind: 'tool.call', callId: undefined, toolId: 'weather.today', call: undefined },
      { kind: 'tool.result', callId: 'c9', text: undefined, failed: false },
      { kind: 'followups', items: ['a'] },
      { kind: 'questions', items: [] },
      { kind: 'plan', plan: undefined },
    ])
  })
})

it('shows operators and users that a program failed, and only operators why', () => {
  const report = (facts: JsonObject): Block => ({
    id: 'b_1',
    ...toolResultBlock(origin, { mime: 'text/markdown', text: 'Runtime error: …', meta: { visibility: 'internal', exec_report: facts } }),
  })
  const results = (block: Block) =>
    readBlocks([block]).flatMap((event) => (event.kind === 'tool.result' ? [{ failed: event.failed, error: event.error }] : []))
  const forUser = (block: Block) => blocksForUser([block], { thinking: 'shown' })[0] as Block
  const failed = report({ status: 'error', runtime_error: { code: 'timeout', message: 'too slow' }, file_errors: [] })
  const partial = report({
    status: 'error',
    runtime_error: null,
    file_errors: [{ path: 'p', code: 'missing_file', message: 'file not produced' }],
  })
  expect([failed, partial, report({ status: 'success', runtime_error: null, file_errors: [] })].flatMap(results)).toEqual([
    { failed: true, error: { code: 'timeout', message: 'too slow' } },
    { failed: true, error: { code: 'missing_file', message: 'file not produced' } },
    { failed: false, error: undefined },
  ])
  expect(results(forUser(failed))).toEqual([{ failed: true, error: undefined }])
  expect(JSON.stringify(forUser(failed))).not.toContain('too slow')
})
