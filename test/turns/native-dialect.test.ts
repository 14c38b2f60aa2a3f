import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/core/block/index.ts'
import type { LaneEvent } from '../../src/core/event.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { createHarness, type HarnessOptions } from '../../src/testing/harness.ts'
import { reply, type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { weather } from '../support/scenario-tools.ts'

const { call, answer } = reply.native

const native = (replies: readonly (string | ScriptedReply)[], options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies: [], model: scriptedModel(replies, { dialect: 'native' }), tools: [weather()], ...options })

const typesOf = (blocks: readonly Block[]) => blocks.map(({ type }) => type)

describe('a turn in the dialect native', () => {
  it('calls a tool and answers', async () => {
    const harness = native([
      call('weather.today', { city: 'Rome' }, { notes: 'I look.' }),
      answer('Sunny.', { followups: ['And tomorrow?'] }),
    ])
    const turn = await harness.say('How is it in Rome?')
    expect(turn).toMatchObject({ answer: 'Sunny.', exitReason: 'complete' })
    expect(typesOf(blocksOf(await harness.timeline()))).toEqual([
      'turn.header',
      'user.prompt',
      'stage.gate',
      'react.thinking',
      'react.notes',
      'react.tool.call',
      'react.tool.result',
      'react.tool.result',
      'react.thinking',
      'assistant.completion',
      'stage.suggested_followups',
    ])
  })

  it('sends the tools, and a system text without a catalogue', async () => {
    const harness = native([answer('Hi.')])
    await harness.say('Hello')
    const [request] = harness.model.requests.filter(({ role }) => role === 'decision')
    expect(request?.tools?.map(({ name }) => name)).toContain('weather__today')
    expect(request?.tools?.[0]?.name).toBe('react__read')
    expect(request?.system).not.toContain('AVAILABLE REACT TOOLS')
    expect(request?.system).not.toContain('<channel:action>')
  })

  it('journals the parts of the response as they were received', async () => {
    const harness = native([call('weather.today', { city: 'Rome' }, { notes: 'I look.' }), answer('Sunny.')])
    await harness.say('How is it?')
    const responses = (await harness.journal()).filter((change) => change.type === 'response.received' && change.role === undefined)
    expect(responses.map((change) => (change.type === 'response.received' ? [change.dialect, JSON.parse(change.raw)] : []))).toEqual([
      [
        'native',
        [
          { type: 'reasoning', text: 'Next step.' },
          { type: 'text', text: 'I look.' },
          { type: 'call', name: 'weather__today', input: '{"city":"Rome"}' },
        ],
      ],
      [
        'native',
        [
          { type: 'reasoning', text: 'Done.' },
          { type: 'text', text: 'Sunny.' },
        ],
      ],
    ])
  })

  it('a broken call is refused with a notice, and the model can try again', async () => {
    const harness = native([{ calls: [{ name: 'weather__today', input: '{"city": ' }] }, answer('Sorry.')])
    const turn = await harness.say('How is it?')
    expect(turn).toMatchObject({ answer: 'Sorry.', exitReason: 'complete' })
    const notices = (await harness.journal()).flatMap((change) => (change.type === 'blocks.appended' ? change.blocks : []))
    expect(notices.find(({ type }) => type === 'react.notice')?.text).toContain('The arguments of \\"weather.today\\" could not be read')
  })
})

describe('the lanes of a native response', () => {
  const lanesOf = (events: readonly { readonly type: string }[]) =>
    events.filter((event): event is LaneEvent => event.type === 'lane.delta').map(({ delta }) => delta)

  it('text is shown while it arrives, and the end of its lane says what it was', async () => {
    const harness = native([
      { ...call('weather.today', { city: 'Rome' }, { notes: 'I look.' }), chunks: 3 },
      { ...answer('Sunny.'), chunks: 2 },
    ])
    const { events } = await harness.say('How is it?')
    const texts = lanesOf(events).filter(({ marker }) => marker === 'answer')
    expect(texts.filter(({ artifact_name }) => artifact_name === 'react.final_answer.0').map(({ text, as }) => as ?? text)).toEqual([
      'I l',
      'ook',
      '.',
      'notes',
    ])
    expect(texts.filter(({ artifact_name }) => artifact_name === 'react.final_answer.1').map(({ text, as }) => as ?? text)).toEqual([
      'Su',
      'nn',
      'y.',
      'answer',
    ])
  })

  it('the content of a file is shown while it arrives, also when path and channel come last', async () => {
    const input = '{"content":"# Report","kind":"file","channel":"canvas","path":"files/report.md"}'
    const harness = native([{ calls: [{ name: 'react__write', input }], chunks: 5 }, answer('Written.')])
    const { events } = await harness.say('Write it.')
    const canvas = lanesOf(events).filter(({ marker }) => marker === 'canvas')
    expect(canvas.map(({ text }) => text).join('')).toBe('# Report')
    expect(canvas.at(-1)).toMatchObject({ completed: true, artifact_name: 'files/report.md' })
    expect(canvas.at(-1)?.aborted).toBeUndefined()
  })
})
