import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { weather } from '../../../test/support/scenario-tools.ts'
import type { TurnEvent } from '../../core/event.ts'
import { importChanges } from '../../core/timeline/bundle.ts'
import type { Change } from '../../core/timeline/change.ts'
import { endsLiveOutput } from '../../core/timeline/change.ts'
import { createHarness } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { type ConversationView, emptyView } from './conversation-view.ts'
import { foldEvent } from './fold-event.ts'

async function eventsOf(replies: readonly Reply[], prompts: readonly string[]): Promise<readonly TurnEvent[]> {
  const harness = createHarness({ replies, tools: [weather()] })
  const events: TurnEvent[] = []
  for (const text of prompts) events.push(...(await harness.say(text)).events)
  return events
}

const replies: readonly Reply[] = [
  reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking it up.' }),
  'no channels at all',
  reply.answer('It is clear in Rome.', { followups: ['And tomorrow?'] }),
  reply.call('react.plan', { mode: 'new', steps: ['look', 'say'] }),
  reply.answer('Planned.'),
]
const fold = (events: readonly TurnEvent[], from: ConversationView = emptyView) => events.reduce(foldEvent, from)

const entriesOf = (changes: readonly Change[]) => changes.map((change, index): TurnEvent => ({ type: 'entry', seq: index + 1, change }))
const entriesAfter = (seq: number, events: readonly TurnEvent[]) => events.filter((event) => event.type === 'entry' && event.seq > seq)
/** The live events of the current round. A server sends them again to a client that connects. */
function inFlight(events: readonly TurnEvent[]): readonly TurnEvent[] {
  const last = events.findLastIndex((event) => event.type === 'entry' && endsLiveOutput(event.change))
  return events.slice(last + 1).filter(({ type }) => type !== 'entry')
}

describe('a view of a conversation', () => {
  it('shows prompt, thinking, tools, answer and suggested followups', async () => {
    const view = fold(await eventsOf(replies, ['How is the weather in Rome?', 'Make a plan.']))
    expect(view).toMatchObject({ title: 'A scripted conversation', live: undefined, waiting: [] })
    expect(view.turns).toMatchObject([
      {
        prompt: 'How is the weather in Rome?',
        exitReason: 'complete',
        answers: [{ text: 'It is clear in Rome.', truncated: false }],
        followups: ['And tomorrow?'],
      },
      { prompt: 'Make a plan.', plans: [{ steps: ['look', 'say'], current: true }], answers: [{ text: 'Planned.' }] },
    ])
    expect(view.turns[0]?.steps).toMatchObject([
      { kind: 'thinking' },
      { kind: 'notes', text: 'Looking it up.' },
      { kind: 'tool', toolId: 'weather.today', params: { city: 'Rome' }, status: 'done', results: [{ mime: 'application/json' }] },
      { kind: 'notice' },
      { kind: 'thinking' },
    ])
  })

  it('shows every tool that runs, until each of them has ended', () => {
    const status = (status: 'tool.started' | 'tool.ended', call_id: string): TurnEvent => ({
      type: 'status',
      turn_id: 't1',
      iteration: 0,
      status,
      tool_id: `par.${call_id}`,
      call_id,
    })
    const events = [status('tool.started', 'a'), status('tool.started', 'b'), status('tool.ended', 'b'), status('tool.ended', 'a')]
    const views = events.map((_, index) => fold(events.slice(0, index + 1)).live)
    expect(views.map((live) => [live?.status, live?.toolId, live?.running.map(({ callId }) => callId).join('')])).toEqual([
      ['tool.started', 'par.a', 'a'],
      ['tool.started', 'par.b', 'ab'],
      ['tool.started', 'par.a', 'a'],
      ['tool.ended', undefined, ''],
    ])
  })

  it('shows what a running tool says about its progress', () => {
    const status = (status: 'tool.started' | 'tool.progress', text?: string): TurnEvent => ({
      type: 'status',
      turn_id: 't1',
      iteration: 0,
      status,
      tool_id: 'mcp.files.copy',
      call_id: 'a',
      ...(text !== undefined && { text }),
    })
    const { live } = fold([status('tool.started'), status('tool.progress', '1 of 3'), status('tool.progress', '2 of 3')])
    expect(live).toMatchObject({
      status: 'tool.started',
      toolId: 'mcp.files.copy',
      running: [{ callId: 'a', toolId: 'mcp.files.copy', progress: '2 of 3' }],
    })
  })

  it('is the same with live events or without, and when entries are repeated', async () => {
    const events = await eventsOf(replies, ['One.', 'Two.'])
    const entries = events.filter(({ type }) => type === 'entry')
    const whole = fold(entries)
    expect(fold(events)).toEqual(whole)
    fc.assert(
      fc.property(fc.nat(events.length), fc.nat(events.length), (cut, back) => {
        const seen = fold(events.slice(0, cut))
        const again = entries.filter((event) => event.type === 'entry' && event.seq > seen.lastSeq - back)
        expect(fold(again, seen)).toEqual(whole)
      }),
    )
  })

  it('is the same after a reconnect in the middle, at every later moment', async () => {
    const events = await eventsOf(replies, ['One.', 'Two.'])
    const whole = fold(events)
    fc.assert(
      fc.property(fc.nat(events.length), fc.nat(events.length), (a, b) => {
        const [lost, joined] = [Math.min(a, b), Math.max(a, b)]
        const seen = fold(events.slice(0, lost))
        const missed = [...entriesAfter(seen.lastSeq, events.slice(0, joined)), ...inFlight(events.slice(0, joined))]
        const reconnected = fold(missed, seen)
        expect(reconnected).toEqual(fold(events.slice(0, joined)))
        expect(fold(events.slice(joined), reconnected)).toEqual(whole)
      }),
    )
  })

  it('shows an imported conversation like the original', async () => {
    const harness = createHarness({ replies, tools: [weather()] })
    for (const text of ['How is the weather in Rome?', 'Make a plan.']) await harness.say(text)
    const original = fold(entriesOf(await harness.journal()))
    const imported = fold(entriesOf(importChanges(await harness.store.exportBundle(harness.conversationId))))
    const withoutEnd = ({ turns }: ConversationView) => turns.map(({ exitReason: _exitReason, usage: _usage, ...turn }) => turn)
    expect(withoutEnd(imported)).toEqual(withoutEnd(original))
    expect(imported.title).toBe(original.title)
  })

  it('shows live text until the blocks of its round come, and not only until its response comes', async () => {
    const events = await eventsOf([reply.answer('A long answer, word by word.')], ['Go.'])
    const responseAt = events.findIndex(
      (event) => event.type === 'entry' && event.change.type === 'response.received' && !event.change.role,
    )
    const before = fold(events.slice(0, responseAt))
    expect(before.live?.lanes.find(({ marker }) => marker === 'answer')).toMatchObject({ text: 'A long answer, word by word.' })
    expect(fold(events.slice(0, responseAt + 1)).live).toEqual(before.live)
    expect(fold(events.slice(0, responseAt + 2)).live).toBeUndefined()
  })

  it('replaces the text of an earlier attempt', () => {
    const delta = (attempt: number, index: number, text: string): TurnEvent => ({
      type: 'lane.delta',
      turn_id: 't1',
      iteration: 0,
      attempt,
      delta: { marker: 'answer', format: 'markdown', index, text, completed: false },
    })
    expect(fold([delta(0, 0, 'wro'), delta(0, 1, 'ng'), delta(1, 0, 'ri'), delta(1, 1, 'ght')]).live).toMatchObject({
      attempt: 1,
      lanes: [{ text: 'right' }],
    })
  })

  it('is immutable: folding an event changes no earlier view', async () => {
    const events = await eventsOf(replies, ['One.', 'Two.'])
    let view = emptyView
    for (const event of events) {
      const before = JSON.stringify(view)
      const next = foldEvent(view, event)
      expect(JSON.stringify(view)).toBe(before)
      view = next
    }
  })
})
