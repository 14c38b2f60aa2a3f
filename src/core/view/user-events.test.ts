import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  error,
  internal,
  internalEntries,
  open,
  originOf,
  publicParts,
  thought,
} from '../../../test/support/generators/internal-entries.ts'
import { failed, resultDrafts } from '../../tools/outcome.ts'
import { blockId, completionBlock, type Draft } from '../block/index.ts'
import type { TurnEvent } from '../event.ts'
import { blocksOfChange, type Change } from '../timeline/change.ts'
import { blocksForUser } from './user-blocks.ts'
import { createUserFilter } from './user-events.ts'

const shapeOf = (event: TurnEvent | undefined) =>
  event?.type === 'entry'
    ? [event.seq, event.change.type, blocksOfChange(event.change).map(({ id, type, turn_id }) => [id, type, turn_id])]
    : undefined

describe('the events that a user may see', () => {
  it('hold no internal text, and every entry with its seq, block ids and types', () => {
    let withSecrets = 0
    fc.assert(
      fc.property(internalEntries, fc.constantFrom('shown' as const, 'withheld' as const), (events, thinking) => {
        const shown = events.map(createUserFilter({ thinking }))
        expect(shown.map(shapeOf)).toEqual(events.map(shapeOf))
        expect(JSON.stringify(shown)).not.toContain(internal)
        if (thinking === 'withheld') expect(JSON.stringify(shown)).not.toContain(thought)
        if (JSON.stringify(events).includes(internal)) withSecrets++
      }),
      { numRuns: 300 },
    )
    expect(withSecrets).toBeGreaterThan(200)
  })

  it('keep everything that is for users', () => {
    const filter = createUserFilter({ thinking: 'shown' })
    for (const part of publicParts) {
      const event = (drafts: readonly Draft[]): TurnEvent => ({
        type: 'entry',
        seq: 1,
        change: { type: 'blocks.appended', blocks: drafts.map((draft, index) => ({ ...draft, id: blockId(index + 1) })) },
      })
      const count = (value: unknown) => JSON.stringify(value).split(open).length
      const entries = part(originOf(1)).map((drafts) => drafts.filter(({ type }) => type !== 'react.notice')) // notices are for the model
      for (const drafts of entries) expect(count(filter(event(drafts)))).toBe(count(event(drafts)))
    }
  })

  it('hold only the type and the time of a change that a newer version of Daybook has written', () => {
    const change = { type: 'turn.painted', ts: '2026-01-01T00:00:00.000Z', note: internal } as unknown as Change
    expect(createUserFilter({ thinking: 'shown' })({ type: 'entry', seq: 1, change })).toEqual({
      type: 'entry',
      seq: 1,
      change: { type: 'turn.painted', ts: '2026-01-01T00:00:00.000Z' },
    })
  })

  it('are the same objects when there is nothing to withhold', () => {
    const filter = createUserFilter({ thinking: 'shown' })
    const blocks = [{ ...completionBlock('t1', '2026-01-01T00:00:00.000Z', { text: open }), id: 'b_1' }]
    const event: TurnEvent = { type: 'entry', seq: 1, change: { type: 'blocks.appended', blocks } }
    expect(filter(event)).toBe(event)
    expect(blocksForUser(blocks, { thinking: 'withheld' })).toBe(blocks)
  })

  it('leave out live text that is internal, and thinking if it is withheld', () => {
    const delta = (marker: string, more: object = {}): TurnEvent => ({
      type: 'lane.delta',
      turn_id: 't1',
      iteration: 0,
      attempt: 0,
      delta: { marker, format: 'text', index: 0, text: 'x', completed: false, ...more },
    })
    const events = [delta('answer'), delta('thinking'), delta('canvas', { internal: true })]
    expect(events.flatMap((event) => createUserFilter({ thinking: 'shown' })(event) ?? [])).toEqual(events.slice(0, 2))
    expect(events.flatMap((event) => createUserFilter({ thinking: 'withheld' })(event) ?? [])).toEqual(events.slice(0, 1))
  })

  it('name the kind of a failed model call, without the words of the provider', () => {
    const filter = createUserFilter({ thinking: 'shown' })
    const status: TurnEvent = { type: 'status', turn_id: 't1', iteration: 0, status: 'retrying', error }
    expect(filter(status)).toMatchObject({ error: { kind: 'invalid_request', message: 'The model call failed (invalid_request).' } })
    expect(JSON.stringify(filter(status))).not.toContain(internal)
  })

  it('say that a withheld call has failed', () => {
    const origin = originOf(1)
    const blocks = resultDrafts(origin, failed('x', internal), { toolId: 'react.read' }).map((draft, index) => ({
      ...draft,
      id: blockId(index),
    }))
    const output = blocksForUser(blocks, { thinking: 'shown' }).findLast(({ type }) => type === 'react.tool.result')
    expect(output).toMatchObject({ text: '{"ok":false}', meta: { withheld: 'internal', tool_call_id: 'c1' } })
  })
})
