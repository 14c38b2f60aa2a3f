import { describe, expect, it } from 'vitest'
import { action, answer } from '../../../test/support/decisions/replies.ts'
import { weather } from '../../../test/support/scenario-tools.ts'
import {
  answering,
  blockTypes,
  codesOf,
  decisions,
  deltasOf,
  laneText,
  noticesOf,
  runTurnWith,
  sendWith,
} from '../../../test/support/watch-turn.ts'
import { blocksOfTurn } from '../../core/timeline/timeline.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'

const createTestHarness = (replies: readonly Reply[], options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies, tools: [weather()], ...options })

const tool_call = { tool_id: 'weather.today', params: { city: 'Rome' } }
const looking = reply.call('weather.today', { city: 'Rome' })
const blank = action({ action: 'complete' })
const withAnswer = 'protocol_violation.tool_call_with_final_answer'
const secondAction = (text: string) =>
  `${reply.answer(text)}<channel:action>${JSON.stringify({ action: 'call_tool', tool_call })}</channel:action>`

const completionsOf = async (harness: Harness, turnId: string) =>
  blocksOfTurn(await harness.timeline(), turnId).flatMap(({ type, text }) => (type === 'assistant.completion' ? [text] : []))

describe('an answer and a tool call in one action', () => {
  it.each([
    ['the answer is in its channel', `${action({ action: 'complete', tool_call })}${answer('It is clear.')}`],
    ['the answer is in the action', action({ action: 'exit', tool_call, final_answer: 'It is clear.' })],
    ['the call comes first', action({ tool_call, action: 'complete', final_answer: 'It is clear.' })],
  ])('are refused and repaired, and nothing of the answer is shown: %s', async (_, broken) => {
    const harness = createTestHarness([{ text: broken, chunks: 7 }, looking, reply.answer('Clear, 21 degrees.')])
    const turn = await harness.say('Rome?')
    expect(laneText(turn.events, 'answer')).toBe('Clear, 21 degrees.')
    expect(turn.answer).toBe('Clear, 21 degrees.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.tool_call_with_final_answer'])
    expect(await blockTypes(harness)).toContain('react.tool.call')
  })

  it.each([
    ['an answer in its channel', `${action({ action: 'complete', tool_calls: [tool_call] })}${answer('It is clear.')}`, withAnswer],
    ['an answer in the action', action({ action: 'exit', final_answer: 'It is clear.', tool_calls: [tool_call] }), withAnswer],
    ['another call', action({ action: 'call_tool', tool_call, tool_calls: [tool_call] }), 'protocol_violation.action_schema_error'],
  ])('are refused and repaired when the call is in a list beside %s', async (_, broken, code) => {
    const harness = createTestHarness([{ text: broken, chunks: 7 }, looking, reply.answer('Clear, 21 degrees.')])
    const turn = await harness.say('Rome?')
    expect([laneText(turn.events, 'answer'), turn.answer]).toEqual(['Clear, 21 degrees.', 'Clear, 21 degrees.'])
    expect(await codesOf(harness)).toEqual([code])
    expect((await blockTypes(harness)).filter((type) => type === 'react.tool.call')).toHaveLength(1)
  })
})

describe('a second action after a shown answer', () => {
  it('keeps the answer as an attempt, and the next round may call', async () => {
    const harness = createTestHarness([secondAction('It is clear.'), looking, reply.answer('It is clear, and 21 degrees.')])
    const turn = await harness.say('Rome?')
    expect(deltasOf(turn.events, 'answer').map(({ iteration, delta }) => `${iteration} ${delta.text}`.trim())).toEqual([
      ...['0 It is clear.', '0', '2 It is clear, and 21 degrees.', '2'],
    ])
    expect(await noticesOf(harness)).toMatchObject([{ code: 'protocol_violation.multiple_actions', answer_kept: true }])
    expect(await blockTypes(harness)).toEqual(
      expect.arrayContaining(['assistant.completion.attempt', 'assistant.completion.attempt.outcome', 'react.tool.call']),
    )
    expect(await completionsOf(harness, turn.turnId)).toEqual(['It is clear.', 'It is clear, and 21 degrees.'])
    expect(turn).toMatchObject({ exitReason: 'complete', answer: 'It is clear, and 21 degrees.' })
  })

  it('leaves the shown answer as the answer of the turn if the model writes no other answer', async () => {
    for (const last of [blank, reply.answer('It is clear.')]) {
      const harness = createTestHarness([secondAction('It is clear.'), last])
      const turn = await harness.say('Rome?')
      expect(laneText(turn.events, 'answer')).toBe(last === blank ? 'It is clear.' : 'It is clear.It is clear.')
      expect(await completionsOf(harness, turn.turnId)).toEqual(['It is clear.'])
      expect(turn.exitReason).toBe('complete')
    }
  })

  it('ends the turn when no round is left, and when the model does the same again', async () => {
    const last = createTestHarness([secondAction('It is clear.')], { settings: { maxRounds: 1 } })
    expect(await last.say('Rome?')).toMatchObject({ exitReason: 'complete', answer: 'It is clear.' })
    const again = createTestHarness([secondAction('It is clear.'), secondAction('It is clear.')])
    const turn = await again.say('Rome?')
    expect(turn).toMatchObject({ exitReason: 'complete', answer: 'It is clear.' })
    expect(await completionsOf(again, turn.turnId)).toEqual(['It is clear.'])
    expect(decisions(again)).toBe(2)
  })
})

describe('a blank completion after a held-back answer', () => {
  it('does not answer a followup that came in since', async () => {
    const first = { text: reply.answer('It is clear.'), chunks: 5 }
    const harness = createTestHarness([first, blank, reply.answer('And Oslo is wet.')])
    const turn = await runTurnWith(harness, 'Rome?', { when: answering, act: sendWith('And Oslo?') })
    expect(turn.answer).toBe('And Oslo is wet.')
    expect(await completionsOf(harness, turn.turnId)).toEqual(['It is clear.', 'And Oslo is wet.'])
    expect(await codesOf(harness)).toEqual(['protocol_violation.final_answer_required'])
  })

  it('does not answer a followup that came in after a second action, either', async () => {
    const harness = createTestHarness([{ text: secondAction('It is clear.'), chunks: 5 }, blank, reply.answer('And Oslo is wet.')])
    const turn = await runTurnWith(harness, 'Rome?', { when: answering, act: sendWith('And Oslo?') })
    expect(turn.answer).toBe('And Oslo is wet.')
    expect(await completionsOf(harness, turn.turnId)).toEqual(['It is clear.', 'And Oslo is wet.'])
  })
})

describe('plain text instead of channels', () => {
  const prose = { text: 'It is clear in Rome [[S:9]].', chunks: 4 }

  it('is repaired once, and then it is the answer', async () => {
    const harness = createTestHarness([prose, prose])
    const turn = await harness.say('Rome?')
    expect(turn).toMatchObject({ exitReason: 'complete', ok: true, answer: 'It is clear in Rome .' })
    expect(laneText(turn.events, 'answer')).toBe('It is clear in Rome .')
    expect(deltasOf(turn.events).every(({ iteration, delta }) => delta.marker === 'answer' && iteration === 1)).toBe(true)
    expect(await codesOf(harness)).toEqual([
      'protocol_violation.decision_preamble_before_first_channel',
      ...['protocol_warning.answer_without_channels', 'protocol_warning.unknown_sources'],
    ])
  })

  it('is read to its end, even without a watcher', async () => {
    const harness = createTestHarness([prose, prose])
    expect((await harness.agent.run('c1', 'Rome?').result).answer).toBe('It is clear in Rome .')
  })

  it('is refused as before when a tag follows, and nothing of it is shown', async () => {
    const tagged = { text: `Sure, here it is. ${reply.answer('It is clear.')}`, chunks: 4 }
    const harness = createTestHarness([tagged, tagged, reply.answer('Clear.')])
    const turn = await harness.say('Rome?')
    expect(laneText(turn.events, 'answer')).toBe('Clear.')
    const code = 'protocol_violation.decision_preamble_before_first_channel'
    expect(await noticesOf(harness)).toMatchObject([
      { code, preamble_preview: 'Sure' },
      { code, preamble_preview: 'Sure, here it is. ' },
    ])
  })

  it('is repaired again after a round that was accepted', async () => {
    const harness = createTestHarness([prose, looking, prose, reply.answer('Clear.')])
    expect((await harness.say('Rome?')).answer).toBe('Clear.')
  })

  it('is still accepted as the answer after another repair, and in the wrap-up', async () => {
    const between = createTestHarness([prose, action('{"action"'), prose])
    expect(await between.say('Rome?')).toMatchObject({ exitReason: 'complete', answer: 'It is clear in Rome .' })
    const last = createTestHarness([prose, prose], { settings: { maxRounds: 1 } })
    expect(await last.say('Rome?')).toMatchObject({ exitReason: 'max_iterations', answer: 'It is clear in Rome .' })
  })

  it('is not shown to the user if it is an action', async () => {
    const bare = JSON.stringify({
      action: 'call_tool',
      tool_call: { tool_id: 'react.write', params: { channel: 'internal', content: 'secret' } },
    })
    const harness = createTestHarness([bare, bare, bare])
    const turn = await harness.say('Rome?')
    expect(turn.exitReason).toBe('protocol_violation')
    expect(laneText(turn.events, 'answer')).not.toContain('secret')
  })
})
