import { describe, expect, it } from 'vitest'
import type { ChannelEvent } from '../stream/channel.ts'
import { createEarlyCheck } from './early-check.ts'

const start = (channel: string): ChannelEvent => ({ type: 'channel.start', channel, instance: 0 })
const delta = (channel: string, text: string): ChannelEvent => ({ type: 'channel.delta', channel, instance: 0, text })
type Watched = ReturnType<typeof createEarlyCheck>
const step = (watch: Watched, events: readonly ChannelEvent[], preamble = '', strayTags: readonly string[] = [], raw = preamble) =>
  watch.check(events, { preamble, hasPreamble: preamble.trim() !== '', strayTags }, raw)

describe('the watch', () => {
  it('loop 17.59: speaks at the first text outside of a channel', () => {
    const watch = createEarlyCheck()
    expect(step(watch, [], '\n ')).toBeUndefined()
    expect(step(watch, [], '\n Sure, ')).toEqual({
      code: 'protocol_violation.decision_preamble_before_first_channel',
      message:
        'The reply began with text outside of any channel and was not read further; the user saw none of it. Nothing ran. Begin the next reply with `<channel:thinking>`, and write nothing before it.',
      preamble_chars: 8,
      preamble_preview: 'Sure, ',
    })
    expect(step(watch, [start('action')], '\n Sure, I will')).toBeUndefined() // once is enough
  })

  it('is quiet once thinking has begun', () => {
    const watch = createEarlyCheck()
    expect(step(watch, [], '\n')).toBeUndefined()
    expect(step(watch, [start('thinking'), delta('thinking', 'x')], '\n')).toBeUndefined()
    expect(step(watch, [start('action')], '\n', ['</channel:code>'])).toBeUndefined()
  })

  it('speaks when another channel comes first', () => {
    expect(step(createEarlyCheck(), [start('action')], '\n\n')).toMatchObject({
      code: 'protocol_violation.decision_first_channel_not_thinking',
      first_channel: 'action',
      offset: 2,
    })
  })

  it('speaks when a close tag comes first, even if thinking follows', () => {
    expect(
      step(createEarlyCheck(), [start('thinking')], '', ['< /channel:Answer>'], '< /channel:Answer>\n<channel:thinking>'),
    ).toMatchObject({
      first_channel: '/Answer',
      offset: 0,
    })
  })

  it('a response that begins as it should needs no parser to tell, wherever it is cut', () => {
    const watch = createEarlyCheck()
    expect(['<', '<channel:thin', '<channel:thinking'].map((raw) => [watch.startsValid(raw), watch.done])).toEqual(
      Array(3).fill([true, false]),
    )
    expect([watch.startsValid('<channel:thinking>I'), watch.done]).toEqual([true, true])
    for (const raw of [' <channel:thinking>', '<channel:action>', '<Channel:thinking>', 'Well'])
      expect(createEarlyCheck().startsValid(raw)).toBe(false)
  })
})
