import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutAt, cuts, everySegmentation, hostileText } from '../../../test/support/generators/text-cuts.ts'
import { referenceParse } from '../../../test/support/reference/channels.ts'
import type { Channel, ChannelEvent } from './channel.ts'
import { createChannelParser } from './channel-parser.ts'

const channels: readonly Channel[] = [
  { name: 'answer', format: 'markdown' },
  { name: 'thinking', format: 'markdown' },
  { name: 'usage', format: 'json' },
  { name: 'action', aliases: ['ReactDecisionOutV2', 'decision'], format: 'json' },
  { name: 'code', format: 'text', raw: true },
  { name: 'summary', format: 'markdown' },
  { name: 'page', format: 'html' },
]

/** Joins adjacent deltas. Their number depends on how the text was cut into chunks. */
function coalesce(events: readonly ChannelEvent[]): readonly ChannelEvent[] {
  const out: ChannelEvent[] = []
  for (const event of events) {
    const last = out.at(-1)
    if (event.type === 'channel.delta' && last?.type === 'channel.delta') out[out.length - 1] = { ...last, text: last.text + event.text }
    else out.push(event)
  }
  return out
}

function parse(pieces: readonly string[]) {
  const parser = createChannelParser(channels)
  const events = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()]
  const bodies: Record<string, string[]> = {}
  for (const event of events) {
    if (event.type === 'channel.start') bodies[event.channel] = [...(bodies[event.channel] ?? []), '']
    const own = bodies[event.channel]
    if (event.type === 'channel.delta' && own !== undefined) own[event.instance] += event.text
  }
  const { preamble, strayTags, unknownChannels } = parser
  return { bodies, events: coalesce(events), preamble, strayTags, unknownChannels }
}

/** Parses a text. Checks that the result is the same for every way to cut the text into chunks. */
function parseEveryWay(text: string, random?: number) {
  const whole = parse([text])
  for (const pieces of everySegmentation(text, random)) expect(parse(pieces)).toEqual(whole)
  return whole
}

const bodiesOf = (text: string) => parseEveryWay(text).bodies

describe('channels', () => {
  it('loop 17.13: names are not case-sensitive', () => {
    expect(bodiesOf('<channel:Answer>y</CHANNEL:answer>')).toEqual({ answer: ['y'] })
  })

  it('loop 17.14: a tag may have up to four spaces in each gap', () => {
    expect(bodiesOf('<channel:answer >y</channel:answer >')).toEqual({ answer: ['y'] })
    expect(bodiesOf('<\t   channel:answer\t>y<  /   channel:answer    >z')).toEqual({ answer: ['y'] })
    expect(bodiesOf('<channel:answer>y</channel:answer     >z')).toEqual({ answer: ['y</channel:answer     >z'] })
  })

  it('loop 17.16: an open tag closes the previous channel, and the close tag of another channel is dropped', () => {
    const { bodies, strayTags, preamble, events } = parseEveryWay(
      'pre<channel:thinking>t<channel:answer>y</channel:thinking>z</channel:answer>post',
    )
    expect(bodies).toEqual({ thinking: ['t'], answer: ['yz'] })
    expect(strayTags).toEqual(['</channel:thinking>'])
    expect(preamble).toBe('pre')
    expect(events.filter(({ type }) => type === 'channel.end')).toMatchObject([
      { channel: 'thinking', closed: 'implied' },
      { channel: 'answer', closed: 'tag' },
    ])
  })

  it('loop 17.17: a repeated channel is a new instance', () => {
    expect(bodiesOf('<channel:answer>one</channel:answer>mid<channel:answer>two</channel:answer>')).toEqual({ answer: ['one', 'two'] })
  })

  it('loop 17.19: a tag between backticks is text', () => {
    expect(bodiesOf('<channel:thinking>use `<channel:code>` tag</channel:thinking><channel:code>x=`1`\n</channel:code>')).toEqual({
      thinking: ['use `<channel:code>` tag'],
      code: ['x=`1`\n'],
    })
  })

  it('loop 17.20: an unbalanced backtick does not hide the next tags', () => {
    expect(bodiesOf('<channel:thinking>a `unbalanced tick</channel:thinking><channel:code>x</channel:code>')).toEqual({
      thinking: ['a `unbalanced tick'],
      code: ['x'],
    })
  })

  it('loop 17.22: in a raw channel tags are text', () => {
    expect(bodiesOf("<channel:code>print('<channel:thinking>')</channel:code>")).toEqual({ code: ["print('<channel:thinking>')"] })
  })

  it('loop 17.23: an open tag at the start of a line closes a raw channel', () => {
    expect(bodiesOf('<channel:code>x=1\n<channel:summary>Goal</channel:summary>')).toEqual({ code: ['x=1\n'], summary: ['Goal'] })
    expect(bodiesOf('<channel:code><channel:summary>\n \t<channel:summary>Goal')).toEqual({
      code: ['<channel:summary>\n \t'],
      summary: ['Goal'],
    })
  })

  it('loop 17.25: in JSON a tag between backticks inside a string is text', () => {
    const body = '{"final_answer":"use `</channel:action>` tag"}'
    expect(bodiesOf(`<channel:action>${body}</channel:action>`)).toEqual({ action: [body] })
  })

  it('loop 17.37: an undeclared tag is text, and its name is recorded', () => {
    const { bodies, unknownChannels } = parseEveryWay('<channel:answer><channel:bar>lit</channel:bar></channel:answer>')
    expect(bodies).toEqual({ answer: ['<channel:bar>lit</channel:bar>'] })
    expect(unknownChannels).toEqual(['bar'])
  })

  it('loop 17.38: text that only starts like a tag is text', () => {
    expect(bodiesOf('<channel:answer>if a < b and c <ch')).toEqual({ answer: ['if a < b and c <ch'] })
  })

  it('loop 17.40: a close tag in an unclosed fence counts when an open tag follows', () => {
    expect(bodiesOf('<channel:thinking>```\nunclosed fence</channel:thinking>\n<channel:answer>ok</channel:answer>')).toEqual({
      thinking: ['```\nunclosed fence'],
      answer: ['ok'],
    })
  })

  it('a close tag in a fence is text when more text follows it', () => {
    const body = '```xml\n</channel:answer> more\n```\nafter'
    expect(bodiesOf(`<channel:answer>${body}</channel:answer>post`)).toEqual({ answer: [body] })
  })

  it('a close tag on the line that ends a fence counts', () => {
    expect(bodiesOf('<channel:answer>```py\nx\n```</channel:answer> and `more`')).toEqual({ answer: ['```py\nx\n```'] })
  })

  it('a fence that closes on its own line is inline code', () => {
    expect(bodiesOf('<channel:action>{}</channel:action><channel:answer>```x``` a<channel:code>b')).toEqual({
      action: ['{}'],
      answer: ['```x``` a'],
      code: ['b'],
    })
  })

  it('an open tag inside a JSON string counts unless it is between backticks', () => {
    expect(bodiesOf('<channel:action>{"a":"x <channel:code>y')).toEqual({ action: ['{"a":"x '], code: ['y'] })
  })

  it('the close tag of another channel is text inside a JSON string, and dropped outside', () => {
    const { bodies, strayTags } = parseEveryWay('<channel:action>{"a":"</channel:code>"}</channel:code> </channel:action>')
    expect(bodies).toEqual({ action: ['{"a":"</channel:code>"} '] })
    expect(strayTags).toEqual(['</channel:code>'])
  })

  it('the search for the second backtick of a quotation ends with the JSON string', () => {
    expect(bodiesOf('<channel:action>{"a":"`</channel:action>","b":"`"} more')).toEqual({ action: ['{"a":"`'] })
    expect(bodiesOf('<channel:action>{"a":"`</channel:action>\\"`"} more</channel:action>x')).toEqual({
      action: ['{"a":"`</channel:action>\\"`"} more'],
    })
  })

  it('an escaped backtick in a JSON string counts, because models write it', () => {
    const body = '{"final_answer":"use \\`</channel:action>\\` or \\`<channel:code>\\` here"}'
    expect(bodiesOf(`<channel:action>${body}</channel:action>`)).toEqual({ action: [body] })
    expect(bodiesOf('<channel:action>{"a":"\\``<channel:answer>```')).toEqual({ action: ['{"a":"\\``'], answer: ['```'] })
  })

  it('the closing backtick may be at most 256 characters away', () => {
    const near = `<channel:answer>\`</channel:answer>${'x'.repeat(255)}\` more`
    expect(parseEveryWay(near, 60).bodies).toEqual({ answer: [near.slice('<channel:answer>'.length)] })
    expect(parseEveryWay(`<channel:answer>\`</channel:answer>${'x'.repeat(256)}\` more`, 60).bodies).toEqual({ answer: ['`'] })
  })

  it('an alias opens and closes its channel', () => {
    expect(bodiesOf('<channel:ReactDecisionOutV2>{}</channel:decision>x')).toEqual({ action: ['{}'] })
  })

  it('an open channel is closed as cut at the end of the stream', () => {
    expect(parseEveryWay('<channel:answer>half').events.at(-1)).toMatchObject({ channel: 'answer', closed: 'cut' })
  })

  it('text without any tag is all preamble', () => {
    expect(parseEveryWay('no tag < here').preamble).toBe('no tag < here')
    expect(parseEveryWay('a</channel:answer>b').preamble).toBe('a')
  })
})

describe('output', () => {
  it('loop 17.2: has plain text at once', () => {
    expect(createChannelParser(channels).push('<channel:answer>Hello wor')).toMatchObject([
      { type: 'channel.start' },
      { type: 'channel.delta', text: 'Hello wor' },
    ])
  })

  it('never splits a surrogate pair, and keeps lone surrogates', () => {
    const parser = createChannelParser(channels)
    expect(parser.push('<channel:answer>a\ud83d')).toMatchObject([{}, { text: 'a' }])
    expect(parser.push('\ude00b\ud83d')).toMatchObject([{ text: '😀b' }])
    expect(parser.end()).toMatchObject([{ text: '\ud83d' }, { type: 'channel.end' }])
  })

  it('is exactly the text that no continuation can change', () => {
    fc.assert(
      fc.property(hostileText(10), (text) => {
        const parser = createChannelParser(channels)
        const output: string[] = []
        for (let at = 1; at <= text.length; at++) {
          output.push(...flat(parser.push(text[at - 1] as string)))
          const beginnings = continuations(text.slice(0, at)).map((whole) => referenceParse(whole, channels).trail)
          expect(output).toEqual(commonBeginning(beginnings).map((step) => step.replace(/@\d+$/, '')))
        }
      }),
      { numRuns: 15 },
    )
  })
})

describe('any text', () => {
  it('gives the same result as the reference parser, however it was cut', () => {
    fc.assert(
      fc.property(hostileText(), cuts, (text, places) => {
        const { events, strayTags } = referenceParse(text, channels)
        const parsed = parse(cutAt(text, places))
        expect(parsed.events).toEqual(coalesce(events))
        expect(parsed.strayTags).toEqual(strayTags)
        expect(parsed).toEqual(parse([text]))
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['one character', 'a'.repeat(1_000_000)],
    ['open angles', '<'.repeat(1_000_000)],
    ['backticks', '`'.repeat(1_000_000)],
    ['spaces after a close tag in a fence', `<channel:answer>\`\`\`\n</channel:answer>${' '.repeat(1_000_000)}`],
    ['nested open tags', '<channel:answer>'.repeat(60_000)],
    ['quoted tags', `<channel:answer>${'`<channel:answer>'.repeat(60_000)}`],
    ['close tags in a fence', `<channel:answer>\`\`\`\n${'</channel:answer>x'.repeat(60_000)}`],
    ['right-to-left and zero-width characters and NUL', '\u202e\u200b\u0000<channel:answer>\u202e\u200b\u0000'.repeat(30_000)],
  ])('a megabyte of %s ends in a result', (_, text) => {
    const parser = createChannelParser(channels)
    let events = 0
    for (let at = 0; at < text.length; at += 1000) events += parser.push(text.slice(at, at + 1000)).length
    events += parser.end().length
    expect(events + parser.preamble.length).toBeGreaterThan(0)
  })

  it('is ignored after the end', () => {
    const parser = createChannelParser(channels)
    parser.end()
    expect(parser.push('<channel:answer>x')).toEqual([])
    expect(parser.end()).toEqual([])
  })
})

/** The events as a list of single characters and tags, so that two streams can be compared up to any position. */
function flat(events: readonly ChannelEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === 'channel.start') return [`start ${event.channel}`]
    if (event.type === 'channel.end') return [`end ${event.closed}`]
    return [...event.text]
  })
}

/** Texts that may follow. For every undecided end of a text, at least two of them decide it differently. */
function continuations(text: string): readonly string[] {
  const tail = text.slice(text.lastIndexOf('<')).replaceAll(/[ \t]/g, '').toLowerCase()
  const names = channels.flatMap((channel) => [channel.name, ...(channel.aliases ?? [])]).map((name) => name.toLowerCase())
  const tags = names.flatMap((name) => [`<channel:${name}>`, `</channel:${name}>`])
  const ways = ['', 'x', 'y`', '`', '\n', '"', '\udc00', '\\"`', '<channel:code>', '\ud83d', '.<']
  const endings = text.includes('<') ? tags.filter((tag) => tag.startsWith(tail)).map((tag) => tag.slice(tail.length)) : []
  return [...ways, ...endings.flatMap((ending) => ['', 'x', 'x`', '<channel:code>'].map((after) => ending + after))].map(
    (way) => text + way,
  )
}

function commonBeginning(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists
  let length = 0
  while (length < first.length && others.every((other) => other[length] === first[length])) length++
  return first.slice(0, length)
}
