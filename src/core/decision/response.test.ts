import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createChannelParser } from '../stream/channel-parser.ts'
import { createEarlyCheck } from './early-check.ts'
import { readDecision } from './read.ts'
import { collectChannels, decisionChannels, parseResponse } from './response.ts'

const stop = { finishReason: 'stop', maxTokens: 20_000 } as const
const read = (raw: string) => {
  const reading = readDecision(parseResponse(raw, stop))
  return reading.ok ? reading.decision : reading.violation
}

/** What the watch says of a response that comes in pieces, and how much of it had come by then. */
function watched(pieces: readonly string[]) {
  const parser = createChannelParser(decisionChannels)
  const watch = createEarlyCheck()
  let heard = ''
  for (const piece of pieces) {
    heard += piece
    const said = watch.check(parser.push(piece), parser, heard)
    if (said) return { code: said.code.replace('protocol_violation.', ''), heard }
  }
  const said = watch.check(parser.end(), parser, heard)
  return said && { code: said.code.replace('protocol_violation.', ''), heard }
}

const answer =
  '\n<channel:thinking>t</channel:thinking>\n<channel:decision>```json\n{"action":"complete"}\n```</channel:decision>\n<channel:answer>Use `</channel:answer>` "so".</channel:answer>'

describe('a raw response', () => {
  it('is read under any name of its channels, with an answer that needs no escaping', () => {
    expect(read(answer)).toEqual({ action: 'complete', answer: 'Use `</channel:answer>` "so".', followups: [], truncated: false })
  })

  it('keeps the order of opening and how each channel was closed', () => {
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

  it('is the same from the journal as it was live, wherever the network cut it', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(answer.length), { maxLength: 5 }), (cuts) => {
        const parser = createChannelParser(decisionChannels)
        const events = pieces(answer, cuts).flatMap((piece) => parser.push(piece))
        expect(collectChannels([...events, ...parser.end()])).toEqual(parseResponse(answer, stop).channels)
      }),
    )
  })

  it('loop 17.59: that begins with talk is stopped at the first word of it', () => {
    expect(watched(['\n', 'Su', 're, I will', ' do it'])).toEqual({ code: 'decision_preamble_before_first_channel', heard: '\nSu' })
  })

  it('that begins with another channel is stopped at its tag', () => {
    expect(watched(['<chan', 'nel:action>', '{'])).toEqual({ code: 'decision_first_channel_not_thinking', heard: '<channel:action>' })
    expect(watched(['</channel:answer>', '<channel:thinking>'])).toEqual({
      code: 'decision_first_channel_not_thinking',
      heard: '</channel:answer>',
    })
  })

  it('is judged at its end as it was watched', () => {
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
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), fc.array(fc.nat(60), { maxLength: 4 }), (parts, cuts) => {
        const raw = parts.join('')
        const live = watched(pieces(raw, cuts))
        const reading = readDecision(parseResponse(raw, stop))
        const code = reading.ok ? '' : reading.violation.code.replace('protocol_violation.', '')
        const atTheEnd = code === 'decision_missing_protocol_channels' ? live?.code : code.startsWith('decision_') ? code : undefined
        expect(live?.code).toBe(atTheEnd)
      }),
      { numRuns: 1000 },
    )
  })
})

function pieces(text: string, cuts: readonly number[]): readonly string[] {
  const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length]
  return places.slice(1).map((to, index) => text.slice(places[index], to))
}
