import { describe, expect, it } from 'vitest'
import type { ChannelEvent } from '../stream/channel.ts'
import { createWatch } from './watch.ts'

const start = (channel: string): ChannelEvent => ({ type: 'channel.start', channel, instance: 0 })
const delta = (channel: string, text: string): ChannelEvent => ({ type: 'channel.delta', channel, instance: 0, text })
const seen = (preamble = '', strayTags: readonly string[] = []) => ({ preamble, strayTags })

describe('the watch', () => {
  it('loop 17.59: speaks at the first text outside of a channel', () => {
    const watch = createWatch()
    expect(watch.step([], seen('\n '))).toBeUndefined()
    expect(watch.step([], seen('\n Sure, '))).toEqual({
      code: 'protocol_violation.decision_preamble_before_first_channel',
      message:
        'The reply began with text outside of any channel and was not read further; the user saw none of it. Nothing ran. Begin the next reply with `<channel:thinking>`, and write nothing before it.',
      preamble_chars: 8,
      preamble_preview: 'Sure, ',
    })
    expect(watch.step([start('action')], seen('\n Sure, I will'))).toBeUndefined() // once is enough
  })

  it('is quiet once thinking has begun', () => {
    const watch = createWatch()
    expect(watch.step([], seen('\n'))).toBeUndefined()
    expect(watch.step([start('thinking'), delta('thinking', 'x')], seen('\n'))).toBeUndefined()
    expect(watch.step([start('action')], seen('\n', ['</channel:code>']))).toBeUndefined()
  })

  it('speaks when another channel comes first', () => {
    expect(createWatch().step([start('action')], seen('\n\n'))).toMatchObject({
      code: 'protocol_violation.decision_first_channel_not_thinking',
      first_channel: 'action',
      offset: 2,
    })
  })

  it('speaks when a close tag comes first, even if thinking follows', () => {
    expect(createWatch().step([start('thinking')], seen('', ['< /channel:Answer>']))).toMatchObject({ first_channel: '/Answer', offset: 0 })
  })
})
