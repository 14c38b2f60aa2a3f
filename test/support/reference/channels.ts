import type { Channel, ChannelEvent } from '../../../src/core/stream/channel.ts'

/**
 * A second implementation of the rules for channels, with which the parser is compared. It has no code in common with the parser. It uses
 * regular expressions and is slow, because it evaluates the text again for each character.
 */
export function referenceParse(
  text: string,
  channels: readonly Channel[],
): { readonly events: readonly ChannelEvent[]; readonly strayTags: readonly string[]; readonly trail: readonly string[] } {
  const events: ChannelEvent[] = []
  const strayTags: string[] = []
  /** Every emitted character with its position, and all other events, in order. */
  const trail: string[] = []
  const seen = new Map<string, number>()
  const declared = (name: string) =>
    channels.find((channel) => [channel.name, ...(channel.aliases ?? [])].some((own) => own.toLowerCase() === name.toLowerCase()))
  const tags = [...text.matchAll(/<[ \t]{0,4}(\/?)[ \t]{0,4}channel:([A-Za-z0-9_-]{1,64})[ \t]{0,4}>/gi)]
    .filter((match) => match[1] === '/' || !/^<[ \t]{5}/.test(match[0]))
    .map((match) => ({
      at: match.index,
      end: match.index + match[0].length,
      closes: match[1] === '/',
      channel: declared(match[2] as string),
      text: match[0],
    }))
    .filter((tag) => tag.channel !== undefined)
  let open: Channel | undefined
  let body = ''
  let from = 0

  const say = (at: number, words: string) => {
    body += words
    if (open === undefined || words === '') return
    events.push({ type: 'channel.delta', channel: open.name, instance: seen.get(open.name) as number, text: words })
    let place = at
    for (const character of words) {
      trail.push(`${character}@${place}`)
      place += character.length
    }
  }
  const close = (closed: 'tag' | 'implied' | 'cut') => {
    if (open === undefined) return
    events.push({ type: 'channel.end', channel: open.name, instance: seen.get(open.name) as number, closed })
    trail.push(`end ${closed}`)
    open = undefined
    body = ''
  }

  for (const tag of tags) {
    say(from, text.slice(from, tag.at))
    from = tag.at
    const own = tag.closes && tag.channel === open
    const rest = text.slice(tag.end)
    if (!isTag(open, body, own, tag.closes, rest, channels)) continue
    from = tag.end
    if (!tag.closes) {
      close('implied')
      open = tag.channel as Channel
      body = ''
      seen.set(open.name, (seen.get(open.name) ?? -1) + 1)
      events.push({ type: 'channel.start', channel: open.name, instance: seen.get(open.name) as number })
      trail.push(`start ${open.name}`)
    } else if (own) close('tag')
    else strayTags.push(tag.text)
  }
  say(from, text.slice(from))
  close('cut')
  return { events, strayTags, trail }
}

function isTag(
  open: Channel | undefined,
  body: string,
  own: boolean,
  closes: boolean,
  rest: string,
  channels: readonly Channel[],
): boolean {
  if (open !== undefined && (open.raw ?? open.name === 'code')) return own || (!closes && /\n[ \t\r]*$/.test(body))
  const strong = own && isFollowedByOpenTag(rest, channels)
  if (open?.format === 'json') {
    const string = openString(body)
    if (string === undefined) return true
    if (closes && !own) return false
    const quoted = count(string) % 2 === 1 && /`/.test((/^(?:[^"\\]|\\[\s\S])*/.exec(rest)?.[0] ?? '').slice(0, 256))
    return strong || !quoted
  }
  const { fenced, line } = lastLine(body)
  if (fenced) return strong
  const quoted = count(line) % 2 === 1 && /`/.test((/^[^\n]*/.exec(rest)?.[0] ?? '').slice(0, 256))
  return strong || !quoted
}

function isFollowedByOpenTag(rest: string, channels: readonly Channel[]): boolean {
  const names = channels.flatMap((channel) => [channel.name, ...(channel.aliases ?? [])]).join('|')
  return new RegExp(`^[ \\t\\n\\r\\f\\v]{0,256}($|<[ \\t]{0,4}channel:(${names})[ \\t]{0,4}>)`, 'i').test(rest)
}

const count = (text: string) => text.split('`').length - 1

/** The content so far of a JSON string that has no end in `body`. Undefined if no string is open. */
function openString(body: string): string | undefined {
  const closed = /^(?:[^"]|"(?:[^"\\]|\\[\s\S])*")*/.exec(body)?.[0] ?? ''
  return closed.length === body.length ? undefined : body.slice(closed.length + 1)
}

function lastLine(body: string): { readonly fenced: boolean; readonly line: string } {
  const { fence, line, ends } = fenceAt(body)
  return { fenced: fence !== '' && !ends, line: fence === '' ? line : '' }
}

/**
 * The code fence that is open at the end of a Markdown text. `ends` is true if the last line closes the fence. If text were added to this
 * line, `ends` would be false.
 */
export function fenceAt(text: string): { readonly fence: string; readonly line: string; readonly ends: boolean } {
  const lines = text.split('\n')
  const line = lines.pop() as string
  let fence = ''
  const opened = (words: string) => /^ {0,3}(?:(`{3,})[^`]*|(~{3,})[\s\S]*)$/.exec(words)?.slice(1).join('') ?? ''
  const ends = (words: string) => {
    const run = /^ {0,3}(`+|~+)[ \t\r]*$/.exec(words)?.[1] ?? ''
    return fence !== '' && run.length >= fence.length && run[0] === fence[0]
  }
  for (const words of lines) fence = fence === '' ? opened(words) : ends(words) ? '' : fence
  return { fence: fence === '' ? opened(line) : fence, line, ends: ends(line) }
}
