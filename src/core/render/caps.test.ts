import { describe, expect, it } from 'vitest'
import { sliceOf } from '../../../test/support/prompts/shown-blocks.ts'
import { timelineOfBlocks } from '../../../test/support/prompts/timelines.ts'
import { maxOutputSchema } from '../../agent/turn/output.ts'
import { maxInstructions } from '../../agent/turn/turn-options.ts'
import { minute } from '../../testing/blocks.ts'
import { type Announce, composeAnnounce } from '../announce/announce.ts'
import { type Block, type BlockType, blockTypes, type HiddenReason } from '../block/index.ts'
import { blockRenderers } from './blocks/index.ts'
import { type Caps, caps } from './caps.ts'
import { sourcesTail } from './sources-tail.ts'

const much = 'far too much '.repeat(1_500)
const many = <T>(make: (n: number) => T): readonly T[] => Array.from({ length: 90 }, (_, n) => make(n))
const manyNumbers = Array.from({ length: 150 }, (_, n) => 1e15 + n)

/** Every meta field that a renderer reads, each with a value far above its limit. */
const meta = {
  tool_call_id: much,
  tool_id: much,
  filename: much,
  summary: much,
  mime: much,
  physical_path: `t1/files/${much}`,
  origin: much,
  reaction: much,
  interrupted: true,
  sources_used: manyNumbers,
  completion_index: 1e15,
  completion_count: 1e15,
  covered_turn_ids: many(() => much.slice(0, 5_000)),
  compacted_range_start_ts: much,
  compacted_range_end_ts: much,
  conversation_first_message_ts: much,
  compaction_digest: {
    artifacts: many(() => ({ artifact_path: much.slice(0, 5_000), mime: much.slice(0, 5_000), kind: 'file', tool_id: 'x' })),
  },
}

const digest = {
  artifact_path: much,
  physical_path: `t1/files/${much}`,
  kind: 'file',
  visibility: 'external',
  channel: much,
  size_bytes: 1e15,
  tokens: 1e15,
  sources_used: manyNumbers,
  write_warning: much,
  description: much,
  mime: much,
  filename: much,
  summary: much,
}

/** Texts that are longer than the highest limit. */
const words: readonly string[] = ['far too much '.repeat(14_000), 'x'.repeat(170_000), '[TURN x]\n'.repeat(20_000)]

/** Every payload that a renderer reads. */
const payloads: { readonly [name: string]: string } = {
  digest: JSON.stringify(digest),
  'digest with an error': JSON.stringify({ ...digest, error: { code: much, message: much } }),
  call: JSON.stringify({
    tool_id: much,
    tool_call_id: much,
    params: Object.fromEntries(many((n) => [`${n} ${much.slice(0, 3_000)}`, { path: much.slice(0, 3_000), list: many(String) }])),
  }),
  'call with content': JSON.stringify({ tool_id: 'react.write', tool_call_id: 'c', params: { path: much, content: much } }),
  notice: JSON.stringify({ code: much, message: much, extra: much }),
  plan: JSON.stringify({ plan_id: much, steps: many(() => much.slice(0, 5_000)), status: {} }),
  'read status': JSON.stringify({
    paths: many((n) => ({ path: `${n}${much.slice(0, 3_000)}`, tokens: 1e15, status: much.slice(0, 3_000) })),
    total_tokens: 1,
    missing: many((n) => `${n}${much.slice(0, 3_000)}`),
    exists_in_visible_context: many((n) => `v${n}${much.slice(0, 3_000)}`),
    visible_context_refs: Object.fromEntries(many((n) => [`v${n}${much.slice(0, 3_000)}`, much.slice(0, 3_000)])),
  }),
  rows: JSON.stringify(many((n) => ({ sid: n * 2 + 1, title: much.slice(0, 500) }))),
  'one row': JSON.stringify([{ sid: 1, text: much }]),
  'deep JSON': JSON.stringify(many((n) => ({ [`key ${n} ${much.slice(0, 300)}`]: many((m) => ({ m }))[n % 7] }))),
}

function oversize(type: BlockType, given: Partial<Block>): Block {
  return {
    id: 'b_1',
    type,
    author: 'tool',
    turn_id: much,
    ts: much,
    path: `fi:t1.files/${much}`,
    call_id: much,
    tool_id: much,
    meta,
    ...given,
  }
}

const shownSize = (block: Block) =>
  sliceOf(timelineOfBlocks([block]))
    .shown.filter((shown) => shown.block === block)
    .flatMap(({ parts }) => parts)
    .reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)

const readsPayloads: ReadonlySet<BlockType> = new Set([
  'react.tool.result',
  'react.tool.call',
  'react.notice',
  'react.plan',
  'user.attachment.meta',
])

const variants = (type: BlockType): readonly Block[] =>
  [...words, ...(readsPayloads.has(type) ? Object.values(payloads) : [])].flatMap((text) => [
    oversize(type, { text, mime: 'application/json' }),
    oversize(type, { text, mime: 'text/markdown' }),
    oversize(type, { text, mime: much, call_id: 'c1', tool_id: 'react.read' }),
    oversize(type, { text, mime: 'application/json', path: `tc:t1.${much}.result`, meta: { ...meta, render_role: 'summary' } }),
    oversize(type, { text, mime: 'text/plain', path: `so:sources_pool[${manyNumbers.join(',')}]` }),
    oversize(type, { text, mime: 'application/x-zip', blob: { sha256: '0'.repeat(64), size: 1e15 } }),
  ])

type Fragment = keyof Caps | readonly [count: keyof Caps, each: keyof Caps]

/** For each block type, the limits that its text consists of. The sum of these limits is the maximum length of the rendered block. */
const fragments: { readonly [T in BlockType]: readonly Fragment[] } = {
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

function maxCharsOf(type: BlockType): number {
  return fragments[type].reduce((sum, part) => sum + (typeof part === 'string' ? caps[part] : caps[part[0]] * caps[part[1]]), 0)
}

describe('everything that enters a prompt has a cap', () => {
  it.each(blockTypes)('%s', (type: BlockType) => {
    const sizes = variants(type).map(shownSize)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(maxCharsOf(type))
    if (fragments[type].length > 0 && type !== 'user.attachment') expect(Math.max(...sizes)).toBeGreaterThan(0)
  })

  it('the replacement of a hidden block, for every reason of hiding', () => {
    const most = caps.labels + caps.id * 2 + caps.path + caps.mime + caps.name + caps.replacement + caps.hint * 2
    const ways: readonly (readonly [HiddenReason, 'old_turn' | 'recent' | undefined])[] = [
      ['hide', undefined],
      ['cache_ttl', 'old_turn'],
      ['cache_ttl_light', 'recent'],
      ['compaction', undefined],
    ]
    for (const type of blockTypes) {
      for (const [reason, scope] of ways) {
        const hidden = { hidden: true, hidden_reason: reason, ...(scope && { hidden_scope: scope }), replacement_text: much }
        for (const text of [words[0], payloads.digest, payloads.call, payloads['one row']] as readonly string[]) {
          expect(shownSize(oversize(type, { text, mime: 'application/json', meta: { ...meta, ...hidden } }))).toBeLessThanOrEqual(most)
        }
      }
    }
  })

  it('the sources tail', () => {
    const rows = many((n) => ({
      sid: n + 1,
      title: much,
      text: much,
      mime: much,
      domain: much,
      content: much,
      source_type: 'web' as const,
    }))
    const row = caps.sourceTitle + caps.mime + caps.sourcePlace + caps.sourceSnippet + 80
    const frame = 4 * 120 + 2 * 200 + caps.announceLine
    expect(sourcesTail({ rows, next_sid: 9_999 }).length).toBeLessThanOrEqual(caps.sourcesShown * row + frame)
  })

  const plan = {
    plan_id: much,
    steps: [...many(() => much.slice(0, 5_000))],
    status: {},
    created_ts: much,
    last_ts: much,
    origin_turn_id: much,
    last_turn_id: much,
  }
  const scopes = many(() => ({ name: much.slice(0, 5_000), files: 1e15 }))
  const long = many(() => much.slice(0, 5_000))
  const list = caps.announceLines * (caps.announceLine + 5) + 100
  const sections: { readonly [K in keyof Required<Announce>]: readonly [Required<Announce>[K], most: number] } = {
    budget: [{ iteration: 1e15, max: 1e15, bonus: 1e14, elapsedSeconds: 1e15, wrapUp: true }, 400],
    plans: [many(() => plan), caps.openPlans * (8 * (caps.id + 40) + caps.planSteps * (caps.planStep + 7)) + 100],
    now: [{ utc: much, timezone: much }, 2 * caps.id + 200],
    contextCaps: [long, list],
    runtimeLimits: [long, list],
    events: [many(() => ({ kind: much, ts: much, text: much, path: much })), caps.liveEvents * (caps.announceLine + caps.id)],
    workspace: [
      {
        implementation: 'git',
        currentTurnRoot: much,
        turnRoots: long,
        editable: scopes,
        checkedOutFrom: much,
        checkoutMode: 'replace',
        lineage: scopes,
        lastPublishedTurn: much,
        git: { status: 'dirty', currentTurnPublish: much, publishError: much },
      },
      (6 + caps.turnRoots) * (caps.announceLine + 40) + 2 * caps.workspaceScopes * (caps.id + 40) + 400,
    ],
    feedbacks: [
      many(() => ({ turnId: much, turnTs: much, ts: much, origin: 'user' as const, text: much, incorporated: true })),
      caps.feedbacks * (caps.announceLine + 60),
    ],
    constraints: [long, list],
    output: [much.slice(0, maxOutputSchema), 2 * maxOutputSchema + 100], // `run` refuses a longer schema
    instructions: [much.slice(0, maxInstructions), 2 * maxInstructions + 100], // `run` refuses a longer text
    tools: [long, list],
    extra: [long.map(() => ({ title: much, text: much })), caps.announceExtras * (caps.announceExtra + caps.id + 100)],
  }

  it.each(Object.keys(sections) as readonly (keyof Announce)[])('the announcement: %s', (name) => {
    const small = { budget: { iteration: 0, max: 1, elapsedSeconds: 0 }, plans: [] }
    const [value, most] = sections[name]
    expect(composeAnnounce({ ...small, [name]: value }).length - composeAnnounce(small).length).toBeLessThanOrEqual(most)
  })

  it('a block type without caps is never shown', () => {
    const context = { caps, callId: 'c', toolId: 't', continuedStatus: undefined, repeatsPlan: false, attachment: undefined }
    for (const type of blockTypes.filter((known) => fragments[known].length === 0)) {
      expect(blockRenderers[type](oversize(type, { text: minute(1) }), context)).toEqual([])
    }
  })
})
