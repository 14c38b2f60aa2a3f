import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { journals } from '../../../test/support/generators/changes.ts'
import { blockOrigin, call, completion, header, minute, prompt, result, rounds, withIds } from '../../testing/blocks.ts'
import { artifactContentBlock, artifactDigestBlock, type Block, type Draft } from '../block/index.ts'
import { applyChange } from './apply.ts'
import { artifactFromBlocks, findArtifact, wasMadeByAnotherCall } from './artifacts.ts'
import type { Change } from './change.ts'
import { frameOf, timelineFromFrame } from './frame.ts'
import { parsePayloadLeniently, toPayload } from './payload.ts'
import {
  assignIds,
  blockById,
  blocksAtPath,
  blocksOf,
  blocksOfCall,
  blocksOfTurn,
  createRoundNumbers,
  emptyTimeline,
  isKnownEvent,
  MAXIMUM_KNOWN_EVENTS,
  roundKey,
  roundsOf,
  type Timeline,
} from './timeline.ts'
import { turnLogOf } from './turn-log.ts'
import { knownTurns, missingTurnHeader } from './turns.ts'

const appended = (drafts: readonly Draft[], first = 1): Change => ({ type: 'blocks.appended', blocks: withIds(drafts, first) })
const replay = (changes: readonly Change[]): Timeline => changes.reduce(applyChange, emptyTimeline())
const ids = (timeline: Timeline) => blocksOf(timeline).map(({ id }) => id)
const factsOf = ({ buffer: _buffer, ...facts }: Timeline) => facts
const comparable = (timeline: Timeline) => ({ ...factsOf(timeline), blocks: blocksOf(timeline) })

describe('a timeline value', () => {
  it('keeps all fields of the latest response but its text', () => {
    const usage = { uncached: 1, cache_read: 0, cache_write: 0, output: 1 }
    const more = fc.record(
      { usage: fc.constant(usage), prompt: fc.constant({}), retried: fc.constant([{ usage }]), error: fc.anything(), later: fc.anything() },
      { requiredKeys: [] },
    )
    const common = { type: 'response.received' as const, turn_id: 't1', ts: minute(1), iteration: 0, call_id: 'c1', finish_reason: 'stop' }
    fc.assert(
      fc.property(more, (others) => {
        const response = { ...common, raw: 'Hello.', ...others } as Change
        expect(applyChange(emptyTimeline(), response).lastResponse).toEqual({ ...common, ...others })
      }),
    )
  })

  it('knows what an open turn waits for, and how long it has waited in all', () => {
    const opened: Change = { type: 'turn.opened', turn_id: 't1', ts: minute(0) }
    const waiting = (at: number, id: string, more: object = {}): Change => ({
      type: 'turn.waiting',
      turn_id: 't1',
      ts: minute(at),
      waits: [{ wait_id: id, kind: 'approval' }],
      ...more,
    })
    const resumed = (at: number, ...ids: string[]): Change => ({ type: 'turn.resumed', turn_id: 't1', ts: minute(at), wait_ids: ids })
    const openTurn = (...changes: readonly Change[]) => replay([opened, ...changes]).openTurn
    const turn = { turn_id: 't1', ts: minute(0) }
    const w1 = { wait_id: 'w1', kind: 'approval' }
    const w2 = { wait_id: 'w2', kind: 'approval' }
    expect(openTurn(waiting(1, 'w1'), waiting(2, 'w2'))).toEqual({ ...turn, waits: [w1, w2], waiting_since: minute(1) })
    expect(openTurn(waiting(1, 'w1'), waiting(2, 'w2'), resumed(4, 'w2'))).toEqual({ ...turn, waits: [w1], waited_ms: 180_000 })
    expect(openTurn(waiting(1, 'w1'), resumed(4, 'w1'), waiting(5, 'w2'), resumed(7, 'w2'))).toEqual({ ...turn, waited_ms: 300_000 })
    expect(openTurn(waiting(1, 'w1', { active: true }), waiting(2, 'w1'))).toEqual({ ...turn, waits: [w1], waiting_since: minute(2) })
    expect(openTurn(waiting(5, 'w1'), resumed(4, 'w1'))).toEqual(turn) // the clock went back
    expect(openTurn(waiting(1, 'w1', { turn_id: 'other' }))).toEqual(turn)
    expect(openTurn(waiting(1, 'w1'), { type: 'turn.closed', turn_id: 't1', ts: minute(2), exit_reason: 'complete' })).toBeUndefined()
  })

  it('does not change when one or two later values are made from it', () => {
    const base = replay([appended(rounds(1))])
    const before = comparable(base)
    const left = applyChange(base, appended([completion('left')], 5))
    const right = applyChange(base, appended([completion('right')], 5))
    expect(comparable(base)).toEqual(before)
    expect(blockById(left, 'b_5')?.text).toBe('left')
    expect(blockById(right, 'b_5')?.text).toBe('right')
    expect(blockById(base, 'b_5')).toBeUndefined()
    expect(blocksOfTurn(base, 't1')).toHaveLength(4)
  })

  it('is the same whether replayed at once or step by step while all steps are kept', () => {
    fc.assert(
      fc.property(journals(), (changes) => {
        const steps = [{ value: emptyTimeline(), seen: comparable(emptyTimeline()) }]
        for (const change of changes) {
          const value = applyChange(steps.at(-1)?.value as Timeline, change)
          steps.push({ value, seen: comparable(value) })
        }
        expect(comparable(replay(changes))).toEqual(steps.at(-1)?.seen)
        for (const { value, seen } of steps) expect(comparable(value)).toEqual(seen)
      }),
    )
  })

  it('finds by id, path, call and turn exactly what a scan would find', () => {
    const counts = { paths: 0, calls: 0 }
    fc.assert(
      fc.property(journals(), (changes) => {
        const timeline = replay(changes)
        const blocks = blocksOf(timeline)
        for (const block of blocks) {
          expect(blockById(timeline, block.id)).toBe(block)
          expect(blocksOfTurn(timeline, block.turn_id)).toEqual(blocks.filter(({ turn_id }) => turn_id === block.turn_id))
          if (block.path !== undefined) {
            counts.paths++
            expect(blocksAtPath(timeline, block.path)).toEqual(blocks.filter(({ path }) => path === block.path))
          }
          if (block.call_id !== undefined) {
            counts.calls++
            expect(blocksOfCall(timeline, block.call_id)).toEqual(blocks.filter(({ call_id }) => call_id === block.call_id))
          }
        }
      }),
    )
    expect(Math.min(counts.paths, counts.calls)).toBeGreaterThan(50)
  })

  it('finds the same blocks as before, even after a later timeline has hidden some and got further ones', () => {
    const before = replay([appended(rounds(3))])
    const wanted = ids(before)
    const found = (timeline: Timeline) => wanted.map((id) => blockById(timeline, id))
    const inOrder = found(before)
    const hidden = applyChange(before, { type: 'blocks.hidden', ids: wanted.slice(1, 2), replacement_text: 'seen', reason: 'hide' })
    const later = applyChange(hidden, appended([prompt('more', 'turn_2')], 100))
    const sibling = applyChange(before, appended([prompt('other', 'turn_3')], 100))
    expect(found(later).map((block) => block?.id)).toEqual(wanted)
    expect(found(later)[1]?.meta?.hidden).toBe(true)
    expect(found(before)).toEqual(inOrder)
    expect([blockById(before, 'b_100'), blockById(later, 'b_100')?.turn_id, blockById(sibling, 'b_100')?.turn_id]).toEqual([
      undefined,
      'turn_2',
      'turn_3',
    ])
  })

  it('treats an empty meta as none, so that revealing restores the appended block', () => {
    const [block] = withIds([prompt('q')])
    const value = replay([{ type: 'blocks.appended', blocks: [{ ...(block as Block), meta: {} }] }])
    expect(blocksOf(value)[0]).not.toHaveProperty('meta')
    const hidden = applyChange(value, { type: 'blocks.hidden', ids: ['b_1'], replacement_text: 'x', reason: 'hide' })
    expect(comparable(applyChange(hidden, { type: 'blocks.revealed', ids: ['b_1'] }))).toEqual(comparable(value))
  })

  it('is restored from a frame with order, hidden state and all facts', () => {
    fc.assert(
      fc.property(journals(), (changes) => {
        const timeline = replay(changes)
        const appendedById = new Map(
          changes.flatMap((change) => ('blocks' in change ? change.blocks : [])).map((block) => [block.id, block]),
        )
        const frame = JSON.parse(JSON.stringify(frameOf(timeline)))
        expect(comparable(timelineFromFrame(frame, (id) => appendedById.get(id) as Block, timeline.sources))).toEqual(comparable(timeline))
      }),
    )
  })
})

describe('changes', () => {
  it('number new blocks after all earlier ones, also compacted ones', () => {
    const timeline = replay([
      appended(rounds(2)),
      { type: 'range.compacted', after_id: 'b_6', blocks: withIds([prompt('summary')], 7), covered: [] },
    ])
    expect(ids(timeline)).toEqual(['b_7'])
    expect(assignIds(timeline, [prompt('next')]).map(({ id }) => id)).toEqual(['b_8'])
  })

  it('hide a group with one replacement text, on its first block, and reveal it unchanged', () => {
    const before = replay([appended(rounds(2))])
    const hidden = applyChange(before, { type: 'blocks.hidden', ids: ['b_5', 'b_4'], replacement_text: 'long search', reason: 'hide' })
    expect(blocksOf(hidden, 3).map(({ meta }) => [meta?.hidden, meta?.replacement_text])).toEqual([
      [true, 'long search'],
      [true, undefined],
      [undefined, undefined],
    ])
    expect(comparable(applyChange(hidden, { type: 'blocks.revealed', ids: ['b_4', 'b_5'] }))).toEqual(comparable(before))
  })

  it('ignore ids that are not there', () => {
    const before = replay([appended(rounds(1))])
    const after = [
      { type: 'blocks.hidden' as const, ids: ['b_99'], replacement_text: 'x', reason: 'hide' as const },
      { type: 'blocks.revealed' as const, ids: ['b_98'] },
      { type: 'turn.closed' as const, turn_id: 'other', ts: minute(1), exit_reason: 'complete' },
    ].reduce(applyChange, before)
    expect(ids(after)).toEqual(ids(before))
  })

  it('insert into the past without changing the later order', () => {
    const timeline = replay([appended(rounds(1)), { type: 'blocks.inserted', after_id: 'b_2', blocks: withIds([prompt('between')], 5) }])
    expect(ids(timeline)).toEqual(['b_1', 'b_2', 'b_5', 'b_3', 'b_4'])
  })

  it('accept an event once, however often it is delivered, and remove it from the inbox when it is folded', () => {
    const event = { event_id: 'e1', sequence: 1, kind: 'followup' as const, ts: minute(1), text: 'and Rome?' }
    const waiting = replay([
      { type: 'event.accepted', event },
      { type: 'event.accepted', event },
    ])
    expect(waiting.inbox).toEqual([event])
    expect(applyChange(waiting, { type: 'event.folded', ts: minute(2), event_ids: ['e1'], turn_id: 't1' }).inbox).toEqual([])
  })

  it('loop 17.94: ignore an event that is accepted again after it was folded', () => {
    const event = { event_id: 'e1', sequence: 1, kind: 'steer' as const, ts: minute(1), text: 'shorter' }
    const timeline = replay([
      { type: 'event.accepted', event },
      { type: 'event.folded', ts: minute(2), event_ids: ['e1'], turn_id: 't1' },
      { type: 'event.accepted', event: { ...event, sequence: 2 } },
    ])
    expect(timeline).toMatchObject({ inbox: [], lastEvent: { event_id: 'e1', sequence: 1 } })
  })

  it('keep the ids of the latest accepted events only, so that a long conversation stays small', () => {
    const accepted = (n: number) => ({ event_id: `e${n}`, sequence: n, kind: 'external' as const, ts: minute(1), text: '' })
    const timeline = replay(Array.from({ length: 300 }, (_, n) => ({ type: 'event.accepted', event: accepted(n + 1) })))
    expect(timeline.knownEvents).toHaveLength(MAXIMUM_KNOWN_EVENTS)
    expect([isKnownEvent(timeline, 'e1'), isKnownEvent(timeline, 'e300')]).toEqual([false, true])
  })

  it('keep the open turn until it is closed', () => {
    const open = replay([{ type: 'turn.opened', turn_id: 't1', ts: minute(0) }])
    expect(open.openTurn).toEqual({ turn_id: 't1', ts: minute(0) })
    expect(applyChange(open, { type: 'turn.closed', turn_id: 't1', ts: minute(1), exit_reason: 'complete' }).openTurn).toBeUndefined()
  })
})

describe('views', () => {
  it('timeline 11.11: the payload starts at the latest summary', () => {
    const summary: Draft = { type: 'conv.range.summary', author: 'system', turn_id: 't1', ts: minute(1), text: 's' }
    const timeline = replay([
      appended([prompt('A')]),
      { type: 'range.compacted', after_id: 'b_1', blocks: withIds([summary], 2), covered: ['t1'] },
      appended([prompt('B', 't2')], 3),
    ])
    expect(toPayload(timeline).blocks.map(({ id }) => id)).toEqual(['b_2', 'b_3'])
    expect(toPayload(timeline)).toMatchObject({ version: 1, turn_ids: ['t1', 't2'], last_activity_at: minute(0) })
  })

  it('timeline 11.17, 11.98: a turn log includes the header and compacted blocks, and no summary', () => {
    const summary: Draft = { type: 'conv.range.summary', author: 'system', turn_id: 't1', ts: minute(1), text: 's' }
    const changes: readonly Change[] = [
      { type: 'turn.opened', turn_id: 't1', ts: minute(0) },
      appended([header(), prompt('q'), call('c1'), result('c1', 'r')]),
      { type: 'range.compacted', after_id: 'b_4', blocks: withIds([summary], 5), covered: ['t1'] },
      { type: 'turn.closed', turn_id: 't1', ts: minute(9), exit_reason: 'complete', sources_used: [2], tokens: 40 },
    ]
    expect(turnLogOf('t1', changes)).toMatchObject({ blocks_count: 4, ts: minute(0), end_ts: minute(9), sources_used: [2], tokens: 40 })
    expect(turnLogOf('t1', changes)?.blocks.some(({ type }) => type === 'conv.range.summary')).toBe(false)
    expect(turnLogOf('never', changes)).toBeUndefined()
  })

  it('timeline 11.19: a turn header that is already the last block is not appended again', () => {
    const timeline = replay([appended([header('t1')])])
    expect(missingTurnHeader(timeline, 't1', minute(1))).toEqual([])
    expect(missingTurnHeader(timeline, 't2', minute(1))).toHaveLength(1)
  })

  it('timeline 11.20: a payload whose blocks are not a list is read as empty', () => {
    expect(parsePayloadLeniently({ version: 1, blocks: 'oops', cache_last_touch_at: 'soon' })).toMatchObject({
      blocks: [],
      turn_ids: [],
      cache_last_touch_at: null,
    })
  })

  it('known turns include summarised and visible ones', () => {
    const summary: Draft = {
      type: 'conv.range.summary',
      author: 'system',
      turn_id: 't3',
      ts: minute(1),
      meta: { covered_turn_ids: ['t1', 't2'] },
    }
    expect([...knownTurns(replay([appended([summary, prompt('x', 't3')])]))]).toEqual(['t1', 't2', 't3'])
  })
})

describe('rounds', () => {
  it('a round is one decision of a turn: notes, call, notice and results together', () => {
    expect(roundsOf(withIds([...rounds(2), completion('done')]))).toEqual([
      { key: 't1#0', turnId: 't1', start: 2, end: 3 },
      { key: 't1#1', turnId: 't1', start: 4, end: 5 },
      { key: 't1#end', turnId: 't1', start: 6, end: 6 },
    ])
  })

  it('imported blocks without an iteration fall back to their call', () => {
    const [block] = withIds([call('c1')])
    expect(roundKey({ ...(block as Block), meta: { tool_call_id: 'c1' } })).toBe('t1@c1')
  })

  it('are numbered in order of their first blocks, even when they interleave', () => {
    const turn_id = fc.constantFrom('t1', 't2')
    const decided = fc.record({ turn_id, meta: fc.record({ iteration: fc.nat(2) }) })
    const called = fc.record({ turn_id, meta: fc.record({ tool_call_id: fc.constantFrom('0', '1') }) })
    const closing = fc.record({ turn_id, type: fc.constantFrom('assistant.completion', 'user.prompt') })
    const any = fc
      .oneof(decided, called, closing)
      .map((fields): Block => ({ id: 'b_1', type: 'react.tool.call', author: 'x', ts: '', ...fields }))
    fc.assert(
      fc.property(fc.array(any), (blocks) => {
        const roundOf = createRoundNumbers()
        const keys = roundsOf(blocks).map(({ key }) => key)
        const expected = blocks
          .map((block) => keys.indexOf(roundKey(block) ?? 'none'))
          .map((number) => (number === -1 ? undefined : number))
        expect(blocks.map(roundOf)).toEqual(expected)
      }),
    )
  })
})

describe('artifacts', () => {
  const path = 'fi:t1.files/a.md'
  const write = (callId: string, text: string, edited: boolean): readonly Draft[] => {
    const digest = { artifact_path: path, physical_path: 't1/files/a.md', mime: 'text/markdown', kind: 'display' as const, edited }
    return [
      call(callId, 'react.write'),
      artifactDigestBlock(blockOrigin(callId), digest),
      artifactContentBlock(blockOrigin(callId), { path, mime: 'text/markdown', text, digest, meta: { rn: 'ef:9' } }),
    ]
  }

  it('timeline 11.5: two writes of one path resolve to the second, which is marked as edited', () => {
    const timeline = replay([appended([...write('w1', 'one', false), ...write('w2', 'two', true)])])
    expect(findArtifact(timeline, path)).toMatchObject({
      path,
      kind: 'display',
      text: 'two',
      callId: 'w2',
      toolId: 'react.write',
      metadata: { edited: true, rn: 'ef:9' },
    })
    expect(findArtifact(timeline, 't1/files/a.md')).toEqual(findArtifact(timeline, path))
    expect(artifactFromBlocks(blocksOf(timeline), path)).toEqual(findArtifact(timeline, path))
  })

  it('a version is an edit only when another call wrote the artifact before', () => {
    const timeline = replay([appended(write('w1', 'one', false))])
    expect(wasMadeByAnotherCall(timeline, path, 'w1')).toBe(false)
    expect(wasMadeByAnotherCall(timeline, path, 'w2')).toBe(true)
    expect(wasMadeByAnotherCall(timeline, 'fi:t1.files/b.md', 'w2')).toBe(false)
  })

  it('hidden artifacts are found as well', () => {
    const written = replay([appended(write('w1', 'one', false))])
    const hidden = applyChange(written, { type: 'blocks.hidden', ids: ['b_3'], replacement_text: 'x', reason: 'hide' })
    expect(findArtifact(hidden, path)?.text).toBe('one')
  })

  it('an artifact with bytes and without a kind is a file', () => {
    const bytes: Draft = {
      type: 'react.tool.result',
      author: 'tool',
      turn_id: 't1',
      ts: minute(0),
      path,
      blob: { sha256: 'a'.repeat(64), size: 1 },
    }
    expect(findArtifact(replay([appended([bytes])]), path)?.kind).toBe('file')
    expect(findArtifact(emptyTimeline(), path)).toBeUndefined()
  })
})

it('tools 18.10: the older form of a tool path resolves to the same block', () => {
  const timeline = replay([appended([call('k', 'x.y', 'turn_c'), result('k', 'out', 'turn_c')])])
  expect(findArtifact(timeline, 'tc:turn_c.tool_calls.k.out.json')).toEqual(findArtifact(timeline, 'tc:turn_c.k.result'))
  expect(findArtifact(timeline, 'tc:turn_c.k.result')?.text).toBe('out')
})
