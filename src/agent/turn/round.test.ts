import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { weather } from '../../../test/support/scenario-tools.ts'
import { blockTypes, codesOf, decisions, deltasOf, laneText, noticesOf } from '../../../test/support/watch-turn.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'

const thinking = '<channel:thinking>Let me see.</channel:thinking>\n'
const action = (value: unknown) =>
  `${thinking}<channel:action>${typeof value === 'string' ? value : JSON.stringify(value)}</channel:action>`
const answer = (text: string) => `\n<channel:answer>${text}</channel:answer>`

function createTestHarness(replies: readonly Reply[], options: Partial<HarnessOptions> = {}) {
  const ran: unknown[] = []
  const work = defineTool({
    id: 'work.do',
    description: 'Does it.',
    params: z.object({ what: z.string(), often: z.number().optional() }),
    run: (params) => {
      ran.push(params)
      return 'done'
    },
  })
  return { ran, harness: createHarness({ replies, tools: [work, weather()], ...options }) }
}

describe('the decision protocol', () => {
  it('loop 17.53: an answer beside a call is never shown, nothing runs, and the model gets a notice', async () => {
    for (const wrong of [
      action({ action: 'call_tool', tool_call: { tool_id: 'work.do', params: { what: 'x' } }, final_answer: 'Early.' }),
      `${reply.call('work.do', { what: 'x' })}${answer('Early.')}`,
    ]) {
      const { harness, ran } = createTestHarness([{ text: wrong, chunks: 7 }, reply.answer('Late.')])
      const { events } = await harness.say('Do it.')
      expect(laneText(events, 'answer')).toBe('Late.')
      expect(await codesOf(harness)).toEqual(['protocol_violation.final_answer_with_tool_call'])
      expect(ran).toEqual([])
    }
  })

  it('loop 17.55: a completion without an answer is requested again', async () => {
    const { harness } = createTestHarness([action({ action: 'complete', final_answer: ' \n' }), reply.answer('Now.')])
    expect((await harness.say('Do it.')).answer).toBe('Now.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.final_answer_required'])
  })

  it('loop 17.56: notes beside an answer are dropped with a warning, and the answer is accepted', async () => {
    const { harness } = createTestHarness([action({ action: 'complete', notes: 'x', final_answer: 'A' })])
    const { answer: said, events } = await harness.say('Do it.')
    expect(said).toBe('A')
    expect(laneText(events, 'timeline_text')).toBe('')
    expect(await codesOf(harness)).toEqual(['protocol_warning.final_answer_with_notes'])
    expect(await blockTypes(harness)).not.toContain('react.notes')
  })

  it('loop 17.58: when there are two actions, none runs', async () => {
    const two = `${reply.call('work.do', { what: 'x' })}\n<channel:action>{"action":"complete"}</channel:action>${answer('A')}`
    const { harness, ran } = createTestHarness([two, reply.answer('Now.')])
    const { events } = await harness.say('Do it.')
    expect(await noticesOf(harness)).toMatchObject([{ code: 'protocol_violation.multiple_actions', count: 2 }])
    expect(ran).toEqual([])
    expect(laneText(events, 'answer')).toBe('Now.')
  })

  it.each([
    ['in one piece', undefined],
    ['letter by letter', 1],
  ])('loop 17.59: a reply that begins with “Sure, ” is aborted and not shown, %s', async (_, chunks) => {
    let pieces = 0
    const text = `Sure, ${reply.call('work.do', { what: 'x' }, { notes: 'On it.' })}`
    const sure = { text, onChunk: () => void pieces++, ...(chunks !== undefined && { chunks }) }
    const { harness, ran } = createTestHarness([sure, reply.answer('Now.')])
    const { events } = await harness.say('Do it.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.decision_preamble_before_first_channel'])
    expect(deltasOf(events).filter(({ iteration }) => iteration === 0)).toEqual([])
    expect(ran).toEqual([])
    expect(pieces).toBeLessThan(3)
  })

  it.each([
    ['in one piece', undefined],
    ['letter by letter', 1],
  ])('loop 17.59: a reply whose first channel is not thinking is aborted and not shown, %s', async (_, chunks) => {
    const text = `<channel:action>{"action":"call_tool","notes":"On it.","tool_call":{"tool_id":"work.do","params":{"what":"x"}}}</channel:action>`
    const { harness, ran } = createTestHarness([{ text, ...(chunks !== undefined && { chunks }) }, reply.answer('Now.')])
    const { events } = await harness.say('Do it.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.decision_first_channel_not_thinking'])
    expect(deltasOf(events).filter(({ iteration }) => iteration === 0)).toEqual([])
    expect(ran).toEqual([])
  })

  it('loop 17.61: a trailing comma is repaired and mentioned in a notice', async () => {
    const { harness } = createTestHarness([action('{"action":"complete","final_answer":"ok",}')])
    const { answer: said, events } = await harness.say('Do it.')
    expect(said).toBe('ok')
    expect(laneText(events, 'answer')).toBe('ok')
    expect(await codesOf(harness)).toEqual(['protocol_warning.action_json_repaired'])
  })

  it('loop 17.62: consecutive repairs are counted, so an early mistake does not make a late one fatal', async () => {
    const call = reply.call('work.do', { what: 'x' })
    const { harness } = createTestHarness(['', '', call, call, call, '', reply.answer('Now.')])
    expect((await harness.say('Do it.')).exitReason).toBe('complete')
  })

  it('repairs are also counted over the whole turn: the seventh ends it', async () => {
    const call = reply.call('work.do', { what: 'x' })
    const { harness } = createTestHarness(['', '', call, '', '', call, '', '', call, '', reply.answer('Now.')])
    const { exitReason, answer: said } = await harness.say('Do it.')
    expect(exitReason).toBe('protocol_violation')
    expect(said).toMatch(/could not put together a usable reply/)
    expect(harness.model.left).toBe(1)
  })

  it('loop 17.64: a mistake in the last round leads to the wrap-up call instead of a repair', async () => {
    const call = reply.call('work.do', { what: 'x' })
    const { harness } = createTestHarness([...Array.from({ length: 14 }, () => call), '', reply.answer('That is all.')])
    const { exitReason, answer: said } = await harness.say('Do it.')
    expect(exitReason).toBe('max_iterations')
    expect(said).toBe('That is all.')
    expect(decisions(harness)).toBe(16)
  })

  it('loop 17.65: an answer that was shown is kept although its action is invalid, and the model is not called again', async () => {
    const broken = `${action('{"action": "complete", "notes": [}')}${answer('A')}`
    const { harness } = createTestHarness([{ text: broken, chunks: 5 }])
    const { answer: said, events, exitReason } = await harness.say('Do it.')
    expect({ said, exitReason, asked: decisions(harness) }).toEqual({ said: 'A', exitReason: 'complete', asked: 1 })
    expect(laneText(events, 'answer')).toBe('A')
    expect(deltasOf(events, 'answer').filter(({ delta }) => delta.completed)).toHaveLength(1)
    expect(await codesOf(harness)).toEqual(['protocol_violation.action_schema_error'])
  })

  it('loop 17.67: an unknown parameter is dropped with a notice; a missing one prevents the call', async () => {
    const { harness, ran } = createTestHarness([
      reply.call('work.do', { what: 'x', colour: 'red' }),
      reply.call('work.do', { often: 2 }),
      reply.answer('Now.'),
    ])
    await harness.say('Do it.')
    expect(ran).toEqual([{ what: 'x' }])
    expect(await noticesOf(harness)).toMatchObject([
      { code: 'tool_signature_validation', status: 'yellow' },
      { code: 'protocol_violation.tool_signature_red' },
    ])
  })

  it('loop 17.68: a tool that exists only inside programs can not be called from an action', async () => {
    const { harness } = createTestHarness([reply.call('ctx_tools.fetch_ctx', { path: 'x' }), reply.answer('Now.')])
    await harness.say('Do it.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.tool_not_allowed_in_react'])
  })

  it('loop 17.70: notes stand before the call they belong to', async () => {
    const { harness } = createTestHarness([reply.call('work.do', { what: 'x' }, { notes: 'On it.' }), reply.answer('Now.')])
    await harness.say('Do it.')
    const blocks = blocksOf(await harness.timeline()).filter(({ type }) => type === 'react.notes' || type === 'react.tool.call')
    expect(blocks.map(({ type }) => type)).toEqual(['react.notes', 'react.tool.call'])
    expect(new Set(blocks.map(({ call_id }) => call_id)).size).toBe(1)
  })
})
