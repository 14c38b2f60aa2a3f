import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChannelEvent } from '../stream/channel.ts'
import { createChannelParser } from '../stream/channel-parser.ts'
import { collectChannels, decisionChannels, parseResponse } from './decision.ts'
import { createEarlyCheck, type EarlyCheck, startOf } from './early-check.ts'
import { readDecision } from './read.ts'

const stop = { finishReason: 'stop', maxTokens: 20_000 } as const
const read = (raw: string) => {
  const reading = readDecision(parseResponse(raw, stop))
  return reading.ok ? reading.decision : reading.violation
}

/** The notice of the early check for a response that arrives in chunks, and the text that had arrived by then. */
function earlyViolation(pieces: readonly string[]) {
  const parser = createChannelParser(decisionChannels)
  const earlyCheck = createEarlyCheck()
  let received = ''
  for (const piece of pieces) {
    received += piece
    const violation = earlyCheck.check(parser.push(piece), parser, received)
    if (violation) return { code: violation.code.replace('protocol_violation.', ''), received }
  }
  const violation = earlyCheck.check(parser.end(), parser, received)
  return violation && { code: violation.code.replace('protocol_violation.', ''), received }
}

const answer =
  '\n<channel:thinking>t</channel:thinking>\n<channel:decision>```json\n{"action":"complete"}\n```</channel:decision>\n<channel:answer>Use `</channel:answer>` "so".</channel:answer>'

describe('a raw response', () => {
  it('may use aliases of channels, and its answer needs no escaping', () => {
    expect(read(answer)).toEqual({ action: 'complete', answer: 'Use `</channel:answer>` "so".', followups: [], truncated: false })
  })

  it('has its channels in order of opening, with how each was closed', () => {
    const raw = '<channel:thinking>a<channel:action>{}</channel:action><channel:thinking>b</channel:thinking><channel:answer>c'
    expect(parseResponse(raw, stop)).toEqual({
      ...stop,
      channels: [
        { name: 'thinking', instances: ['a', 'b'], closed: 'tag' },
        { name: 'action', instances: ['{}'], closed: 'tag' },
        { name: 'answer', instances: ['c'], closed: 'cut' },
      ],
      preamble: '',
      raw,
    })
  })

  it('gives the same channels from the journal as from the stream, wherever chunks were cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(answer.length), { maxLength: 5 }), (cuts) => {
        const parser = createChannelParser(decisionChannels)
        const events = pieces(answer, cuts).flatMap((piece) => parser.push(piece))
        expect(collectChannels([...events, ...parser.end()])).toEqual(parseResponse(answer, stop).channels)
      }),
    )
  })

  it('loop 17.59: is stopped at the first word outside of a channel', () => {
    expect(earlyViolation(['\n', 'Su', 're, I will', ' do it'])).toEqual({
      code: 'decision_preamble_before_first_channel',
      received: '\nSu',
    })
  })

  it('is stopped at the tag of a wrong first channel', () => {
    expect(earlyViolation(['<chan', 'nel:action>', '{'])).toEqual({
      code: 'decision_first_channel_not_thinking',
      received: '<channel:action>',
    })
    expect(earlyViolation(['</channel:answer>', '<channel:thinking>'])).toEqual({
      code: 'decision_first_channel_not_thinking',
      received: '</channel:answer>',
    })
  })

  it('gets the same violation from the early check and at its end', () => {
    const piece = fc.constantFrom(
      '<channel:thinking>',
      '</channel:thinking>',
      '<channel:action>',
      '</channel:code>',
      'x',
      '\n',
      '<chan',
      '{}',
    )
    let compared = 0
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), fc.array(fc.nat(60), { maxLength: 4 }), (parts, cuts) => {
        const raw = parts.join('')
        const live = earlyViolation(pieces(raw, cuts))
        const reading = readDecision(parseResponse(raw, stop))
        const code = reading.ok ? '' : reading.violation.code.replace('protocol_violation.', '')
        if (code === 'decision_missing_protocol_channels') return // only a complete response can break this rule
        compared++
        expect(live?.code).toBe(code.startsWith('decision_') ? code : undefined)
      }),
      { numRuns: 1000 },
    )
    expect(compared).toBeGreaterThan(300)
  })
})

function pieces(text: string, cuts: readonly number[]): readonly string[] {
  const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length]
  return places.slice(1).map((to, index) => text.slice(places[index], to))
}

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

  it('is not needed if the response starts with the first tag, wherever the text was cut', () => {
    expect(['', '<', '<channel:thin', '<channel:thinking'].map(startOf)).toEqual(Array(4).fill('incomplete'))
    expect(startOf('<channel:thinking>I')).toBe('valid')
    for (const raw of [' <channel:thinking>', '<channel:action>', '<Channel:thinking>', 'Well']) expect(startOf(raw)).toBe('other')
  })
})
