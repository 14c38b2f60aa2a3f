import fc from 'fast-check'
import { type Block, blockId } from '../../../src/core/block/index.ts'
import type { SourceRow } from '../../../src/core/sources/source.ts'
import { type Change, waitKinds } from '../../../src/core/timeline/change.ts'
import type { InboxEventKind } from '../../../src/core/timeline/inbox-event.ts'
import { minute } from '../../../src/testing/blocks.ts'

/** Texts with quotes, control characters, emoji and halves of surrogate pairs. Some are long. */
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  { weight: 2, arbitrary: fc.constantFrom('', '\ud83d', 'line\u2028sep', '😀', '__proto__', '{"artifact_path":"fi:t1.files/a.md"}') },
  { weight: 1, arbitrary: fc.integer({ min: 8_000, max: 20_000 }).map((length) => 'é🙂x'.repeat(length / 3)) },
)
const turn = fc.constantFrom('t1', 't2', 't3')
const at = fc.nat({ max: 5_000 }).map(minute)
const pick = fc.nat({ max: 1_000 })
const eventKind = fc.constantFrom<InboxEventKind>(
  ...(['followup', 'followup', 'steer', 'feedback', 'external', 'decision', 'completion', 'withdrawal'] as const),
)

const fields = fc.record(
  {
    type: fc.constantFrom('user.prompt', 'react.tool.call', 'react.tool.result', 'react.note', 'assistant.completion', 'future.kind'),
    author: fc.constantFrom('user', 'react', 'agent'),
    turn_id: turn,
    ts: at,
    mime: fc.constantFrom('text/markdown', 'application/json', 'image/png'),
    path: fc.constantFrom('ar:t1.user.prompt', 'fi:t1.files/a.md', 'tc:t1.c1.result', 'so:sources_pool[1]', 'odd\u0000path'),
    text,
    call_id: fc.constantFrom('c1', 'c2'),
    payload: fc.jsonValue({ maxDepth: 2 }),
    // at least one key, because stores remove an empty `meta`
    meta: fc.dictionary(fc.constantFrom('iteration', 'x', '$blob', '$literal', '2', '1'), fc.jsonValue({ maxDepth: 1 }), { minKeys: 1 }),
    unknown_field: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: ['type', 'author', 'turn_id', 'ts'] },
)
const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 })
const someBlocks = fc.array(fc.record({ fields, bytes: fc.option(bytes, { freq: 6, nil: undefined }) }), { minLength: 1, maxLength: 3 })

const row = fc.record(
  {
    title: text,
    url: fc.constantFrom('https://a.example/1', 'https://b.example/2'),
    text,
    content: text,
    odd: fc.jsonValue({ maxDepth: 1 }),
  },
  { requiredKeys: ['title', 'url'] },
)

const waitId = fc.constantFrom('w1', 'w2', 'w3')
const wait = fc.record(
  {
    wait_id: waitId,
    kind: fc.constantFrom(...waitKinds),
    call_id: fc.constantFrom('c1', 'c2'),
    question: text,
    expires_at: at,
    child_id: fc.constantFrom('c1~call_0', 'c1~call_1'),
  },
  { requiredKeys: ['wait_id', 'kind'] },
)

/** Changes without block ids. `pick` chooses one of the existing blocks, and sometimes a block that does not exist. */
const plannedChange = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('append' as const), blocks: someBlocks }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('insert' as const), after: pick, blocks: someBlocks }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('compact' as const), after: pick, blocks: someBlocks }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('hide' as const), targets: fc.array(pick, { maxLength: 3 }), text, scoped: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('reveal' as const), targets: fc.array(pick, { maxLength: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('open' as const), turn, at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('close' as const),
      turn,
      at,
      sids: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), turn, at, waits: fc.array(wait, { maxLength: 3 }), active: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('resume' as const), turn, at, waitIds: fc.array(waitId, { maxLength: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('respond' as const), turn, at, raw: text, ttl: fc.option(fc.nat(600)) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cite' as const), at, rows: fc.array(row, { minLength: 1, maxLength: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('use' as const), at, sids: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), at, sid: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('title' as const), at, title: text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('event' as const), of: eventKind, at, text, sequence: fc.nat({ max: 50 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fold' as const), at, sequence: fc.nat({ max: 50 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('feedback' as const), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('repeat' as const), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('finish' as const), at, ok: fc.boolean(), text }) },
)
type PlannedChange = typeof plannedChange extends fc.Arbitrary<infer T> ? T : never

/** Journals with all types of changes except imports, which have tests of their own. Bytes are inline, as tools return them. */
export const journals = (options: { readonly maxLength?: number } = {}): fc.Arbitrary<readonly Change[]> =>
  fc.array(plannedChange, { maxLength: options.maxLength ?? 40 }).map(toChanges)

function toChanges(planned: readonly PlannedChange[]): readonly Change[] {
  let nextBlock = 1
  let nextSid = 1
  const number = (made: readonly { fields: object; bytes: Uint8Array | undefined }[]): readonly Block[] =>
    made.map(({ fields: rest, bytes: content }) => ({
      id: blockId(nextBlock++),
      ...(rest as Omit<Block, 'id'>),
      ...(content && { base64: Buffer.from(content).toString('base64') }),
    }))
  const target = (chosen: number) => blockId((chosen % (nextBlock + 1)) + 1) // sometimes the id after the last block

  return planned.map((each): Change => {
    switch (each.kind) {
      case 'append':
        return { type: 'blocks.appended', blocks: number(each.blocks) }
      case 'insert':
        return { type: 'blocks.inserted', after_id: target(each.after), blocks: number(each.blocks) }
      case 'compact':
        return { type: 'range.compacted', after_id: target(each.after), blocks: number(each.blocks), covered: ['t1'] }
      case 'hide': {
        const hidden = {
          type: 'blocks.hidden' as const,
          ids: each.targets.map(target),
          replacement_text: each.text,
          reason: 'cache_ttl' as const,
        }
        return each.scoped ? { ...hidden, scope: 'recent' } : hidden
      }
      case 'reveal':
        return { type: 'blocks.revealed', ids: each.targets.map(target) }
      case 'open':
        return { type: 'turn.opened', turn_id: each.turn, ts: each.at }
      case 'close':
        return { type: 'turn.closed', turn_id: each.turn, ts: each.at, exit_reason: 'complete', sources_used: each.sids, tokens: 12 }
      case 'wait':
        return { type: 'turn.waiting', turn_id: each.turn, ts: each.at, waits: each.waits, ...(each.active && { active: true }) }
      case 'resume':
        return { type: 'turn.resumed', turn_id: each.turn, ts: each.at, wait_ids: each.waitIds }
      case 'respond':
        return {
          type: 'response.received',
          turn_id: each.turn,
          ts: each.at,
          iteration: 0,
          call_id: 'c1',
          raw: each.raw,
          finish_reason: 'stop',
          usage: { uncached: 1, cache_read: 2, cache_write: 3, output: 4 },
          prompt: { cache_ttl_seconds: each.ttl },
          retried: [{ usage: { uncached: 5, cache_read: 0, cache_write: 0, output: 6 }, estimated: true }],
          wrap_up: 'rounds',
          request_hash: 2 ** 52 + 1,
        }
      case 'cite': {
        const rows = each.rows.map((fields) => ({ sid: nextSid++, source_type: 'web', ...fields }) as unknown as SourceRow)
        return { type: 'sources.merged', ts: each.at, rows, next_sid: nextSid }
      }
      case 'use':
        return { type: 'sources.used', ts: each.at, sids: each.sids }
      case 'remove':
        return { type: 'source.removed', ts: each.at, sid: each.sid }
      case 'title':
        return { type: 'title.set', ts: each.at, title: each.title }
      case 'event':
        return {
          type: 'event.accepted',
          event: { event_id: `e${each.sequence}`, sequence: each.sequence, kind: each.of, ts: each.at, text: each.text },
        }
      case 'fold':
        return { type: 'event.folded', ts: each.at, event_ids: [`e${each.sequence}`], turn_id: 't1' }
      case 'repeat':
        return { type: 'call.repeated', turn_id: 't1', call_id: 'c1', ts: each.at }
      case 'finish':
        return { type: 'call.finished', turn_id: 't1', ts: each.at, call_id: 'c1', outcome: { ok: each.ok, output: each.text } }
      case 'feedback':
        return { type: 'feedback.seen', ts: each.at, until: each.at }
      default:
        return each satisfies never
    }
  })
}
