import { describe, expect, it } from 'vitest'
import type { ChannelEvent } from '../stream/channel.ts'
import { createEarlyCheck, type EarlyCheck } from './early-check.ts'

const start = (channel: string): ChannelEvent => ({ type: 'channel.start', channel, instance: 0 })
const delta = (channel: string, text: string): ChannelEvent => ({ type: 'channel.delta', channel, instance: 0, text })
const step = (earlyCheck: EarlyCheck, events: readonly ChannelEvent[], preamble = '', strayTags: readonly string[] = [], raw = preamble) =>
  earlyCheck.check(events, { preamble, hasPreamble: preamble.trim() !== '', strayTags }, raw)

describe('the early check', () => {
  it('loop 17.59: reports the first text outside of a channel', () => {
    const earlyCheck = createEarlyCheck()
    expect(step(earlyCheck, [], '\n ')).toBeUndefined()
    expect(step(earlyCheck, [], '\n Sure, ')).toEqual({
      code: 'protocol_violation.decision_preamble_before_first_channel',
      message:
        'The reply began with text outside of any channel and was not read further; the user saw none of it. Nothing ran. Begin the next reply with `<channel:thinking>`, and write nothing before it.',
      preamble_chars: 8,
      preamble_preview: 'Sure, ',
    })
    expect(step(earlyCheck, [start('action')], '\n Sure, I will')).toBeUndefined() // reported only once
  })

  it('reports nothing once the thinking channel has started', () => {
    const earlyCheck = createEarlyCheck()
    expect(step(earlyCheck, [], '\n')).toBeUndefined()
    expect(step(earlyCheck, [start('thinking'), delta('thinking', 'x')], '\n')).toBeUndefined()
    expect(step(earlyCheck, [start('action')], '\n', ['</channel:code>'])).toBeUndefined()
  })

  it('reports another first channel', () => {
    expect(step(createEarlyCheck(), [start('action')], '\n\n')).toMatchObject({
      code: 'protocol_violation.decision_first_channel_not_thinking',
      first_channel: 'action',
      offset: 2,
    })
  })

  it('reports a leading close tag, even if thinking follows', () => {
    expect(
      step(createEarlyCheck(), [start('thinking')], '', ['< /channel:Answer>'], '< /channel:Answer>\n<channel:thinking>'),
    ).toMatchObject({
      first_channel: '/Answer',
      offset: 0,
    })
  })

  it('recognises a valid beginning without a parser, wherever the text was cut', () => {
    const earlyCheck = createEarlyCheck()
    expect(['<', '<channel:thin', '<channel:thinking'].map((raw) => [earlyCheck.startsValid(raw), earlyCheck.isDone()])).toEqual(
      Array(3).fill([true, false]),
    )
    expect([earlyCheck.startsValid('<channel:thinking>I'), earlyCheck.isDone()]).toEqual([true, true])
    for (const raw of [' <channel:thinking>', '<channel:action>', '<Channel:thinking>', 'Well'])
      expect(createEarlyCheck().startsValid(raw)).toBe(false)
  })
})
