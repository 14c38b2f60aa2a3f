import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutAt, cuts, hostileText } from '../../../test/support/generators/text-cuts.ts'
import type { Channel } from '../stream/channel.ts'
import { createChannelParser } from '../stream/channel-parser.ts'
import { collectChannels, decisionChannels } from './decision.ts'
import { readPlainChannels } from './fast-read.ts'

const ordinary =
  '<channel:thinking>I look it up.</channel:thinking>\n<channel:action>{"action":"call_tool","notes":"a > b"}</channel:action>\n\n<channel:code>x = 1\n</channel:code>\n'

function parsed(pieces: readonly string[], channels: readonly Channel[]) {
  const parser = createChannelParser(channels)
  const events = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()]
  return { channels: collectChannels(events), preamble: parser.preamble, stray: parser.strayTags, unknown: parser.unknownChannels }
}

/** Reads a text in both ways and compares the results. False when the fast path does not accept the text. */
function expectSame(text: string, places: readonly number[] = [], channels = decisionChannels): boolean {
  const plain = readPlainChannels(text, channels)
  if (plain) expect(parsed(cutAt(text, places), channels)).toEqual({ channels: plain, preamble: '', stray: [], unknown: [] })
  return plain !== undefined
}

describe('readPlainChannels', () => {
  it('reads an ordinary response', () => {
    expect(expectSame(ordinary)).toBe(true)
    expect(readPlainChannels(ordinary, decisionChannels)?.map(({ name }) => name)).toEqual(['thinking', 'action', 'code'])
    expect(expectSame('<channel:thinking></channel:thinking>')).toBe(true)
  })

  it.each([
    '',
    ' ',
    `Well. ${ordinary}`,
    `${ordinary}And so on.`,
    ordinary.replace('look', '`look`'),
    ordinary.replace('look', 'look < see'),
    ordinary.replace('<channel:action>', '<channel:decision>'),
    ordinary.replace('<channel:action>', '<channel:Action>'),
    ordinary.replace('</channel:thinking>', ''),
    ordinary.slice(0, -20),
    `${ordinary}<channel:thinking>More.</channel:thinking>`,
    '<channel:thinking>\n~~~\n</channel:thinking>',
  ])('leaves %j to the parser', (text) => {
    expect(readPlainChannels(text, decisionChannels)).toBeUndefined()
  })

  it('leaves a name to the parser that is an alias of an earlier channel', () => {
    const channels: readonly Channel[] = [
      { name: 'action', aliases: ['answer'], format: 'json' },
      { name: 'answer', format: 'markdown' },
    ]
    expect(readPlainChannels('<channel:answer>Yes.</channel:answer>', channels)).toBeUndefined()
  })

  it('agrees with the parser on generated responses, however they are cut', () => {
    const blank = fc.constantFrom('', '\n', ' \t\r\n', '\u00a0', '\v')
    const body = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.constantFrom('"', '\\', '"\\', '\ud83d', '    x\n', '---\n', '`', '~~~\n', '<', '</'),
    )
    const name = fc.constantFrom('thinking', 'action', 'code', 'answer', 'followup', 'usage')
    const channel = fc.tuple(name, body, body, blank).map(([n, a, b, after]) => `<channel:${n}>${a}${b}</channel:${n}>${after}`)
    const response = fc.array(channel, { maxLength: 4 }).map((all) => all.join(''))
    let plain = 0
    const count = (text: string, places: readonly number[]) => {
      if (expectSame(text, places)) plain++
    }
    fc.assert(fc.property(response, cuts, count), { numRuns: 2_000 })
    expect(plain).toBeGreaterThan(100) // fewer would prove nothing
  })

  it('agrees with the parser on damaged and on hostile responses', () => {
    const written = fc.constantFrom(
      '<',
      '>',
      '/',
      '`',
      '```',
      '~~~',
      '"',
      '\\',
      '\n',
      ' ',
      'channel:',
      '<channel:answer>',
      '</channel:action>',
    )
    const mutation = fc.tuple(fc.nat(ordinary.length), fc.nat(24), fc.option(written, { nil: '' }))
    const mutated = fc
      .array(mutation, { minLength: 1, maxLength: 3 })
      .map((all) => all.reduce((text, [at, gone, put]) => text.slice(0, at) + put + text.slice(at + gone), ordinary))
    let plain = 0
    const count = (text: string, places: readonly number[]) => {
      if (expectSame(text, places)) plain++
    }
    fc.assert(fc.property(mutated, cuts, count), { numRuns: 3_000 })
    // The fast path accepts hardly any hostile text, so the number of accepted texts is checked before these.
    expect(plain).toBeGreaterThan(30)
    fc.assert(fc.property(hostileText(), cuts, count), { numRuns: 1_000 })
  })
})
