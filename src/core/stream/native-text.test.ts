import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { collectChannels, decisionChannels } from '../decision/decision.ts'
import { createNativeTextParser } from './native-text.ts'

function split(pieces: readonly string[]) {
  const parser = createNativeTextParser(decisionChannels)
  const channels = collectChannels([...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()])
  return Object.fromEntries(channels.map(({ name, instances }) => [name, instances.join('|')]))
}

describe('the text of a native response', () => {
  it.each([
    ['Sunny.', { answer: 'Sunny.' }],
    ['<think>Hm.</think>\n\nSunny.', { thinking: 'Hm.', answer: '\n\nSunny.' }],
    ['\n<think>Hm', { thinking: 'Hm' }],
    ['a < b and <think> later', { answer: 'a < b and <think> later' }],
    ['Sunny.\n<channel:followup>{"followups": []}</channel:followup>', { answer: 'Sunny.\n', followup: '{"followups": []}' }],
    ['Use `<channel:followup>` for this.', { answer: 'Use `<channel:followup>` for this.' }],
    ['<channel:thinking>Hm.</channel:thinking>Sunny.', { thinking: 'Hm.', answer: 'Sunny.' }],
    ['One.<channel:usage>{}</channel:usage>Two.', { answer: 'One.|Two.', usage: '{}' }],
    ['', {}],
  ])('%j', (text, channels) => {
    expect(split([text])).toEqual(channels)
  })

  it('is split in the same way, however it is cut into pieces', () => {
    const fragments = [
      '<think>',
      '</think>',
      '<channel:followup>',
      '</channel:followup>',
      '<channel:',
      '<',
      '`',
      ' ',
      '\n',
      'Sunny. ',
      '{"a": 1}',
    ]
    const pieces = fc.array(fc.oneof(fc.constantFrom(...fragments), fc.string({ maxLength: 8 })), { maxLength: 12 })
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 7 }), (list, size) => {
        const text = list.join('')
        const cut = Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.slice(n * size, (n + 1) * size))
        expect(split(cut)).toEqual(split([text]))
      }),
    )
  })
})
