import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutAt, cuts, hostileText } from '../../../test/support/generators/text-cuts.ts'
import type { Channel } from '../stream/channel.ts'
import { createChannelParser } from '../stream/channel-parser.ts'
import { readPlainChannels } from './fast-channels.ts'
import { collectChannels, decisionChannels } from './response.ts'

const ordinary =
  '<channel:thinking>I look it up.</channel:thinking>\n<channel:action>{"action":"call_tool","notes":"a > b"}</channel:action>\n\n<channel:code>x = 1\n</channel:code>\n'

function parsed(pieces: readonly string[], channels: readonly Channel[]) {
  const parser = createChannelParser(channels)
  const events = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()]
  return { channels: collectChannels(events), preamble: parser.preamble, stray: parser.strayTags, unknown: parser.unknownChannels }
}

/** What is plain is what the parser makes of it, however it is cut. */
function expectSame(text: string, places: readonly number[] = [], channels = decisionChannels): boolean {
  const plain = readPlainChannels(text, channels)
  if (plain) expect(parsed(cutAt(text, places), channels)).toEqual({ channels: plain, preamble: '', stray: [], unknown: [] })
  return plain !== undefined
}

describe('channels of a plain response', () => {
  it('an ordinary response is plain', () => {
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
  ])('%j is left to the parser', (text) => {
    expect(readPlainChannels(text, decisionChannels)).toBeUndefined()
  })

  it('a name that an earlier channel goes by, too, is left to the parser', () => {
    const channels: readonly Channel[] = [
      { name: 'action', aliases: ['answer'], format: 'json' },
      { name: 'answer', format: 'markdown' },
    ]
    expect(readPlainChannels('<channel:answer>Yes.</channel:answer>', channels)).toBeUndefined()
  })

  it('nothing that is called plain is read otherwise by the parser', () => {
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
    expect(plain).toBeGreaterThan(100) // else the property would say nothing
  })

  it('nor is anything that was written over an ordinary response, or is hostile altogether', () => {
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
    fc.assert(
      fc.property(mutated, cuts, (text, places) => void expectSame(text, places)),
      { numRuns: 3_000 },
    )
    fc.assert(
      fc.property(hostileText(), cuts, (text, places) => void expectSame(text, places)),
      { numRuns: 1_000 },
    )
  })
})
