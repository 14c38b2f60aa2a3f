import type { Notice } from '../block/tool.ts'
import type { ChannelEvent } from '../stream/channel.ts'
import type { ChannelParser } from '../stream/channel-parser.ts'
import { previewLimit, snippet, truncate, violation } from './violations.ts'

/** Looks at a response while it is written, so that one that begins wrongly can be stopped before it is paid for. */
export interface EarlyCheck {
  /** Before any parser is asked: all that was written is how a response should begin, or the beginning of that. */
  startsValid(raw: string): boolean
  /** After each piece: what the parser made of it, what it has seen so far, and all that was written. The first violation, once. */
  check(
    events: readonly ChannelEvent[],
    seen: Pick<ChannelParser, 'preamble' | 'hasPreamble' | 'strayTags'>,
    raw: string,
  ): Notice | undefined
  /** It has seen how the response begins: what comes later is not its business. */
  readonly done: boolean
}

const firstTag = '<channel:thinking>'

export const createEarlyCheck = (): EarlyCheck => new OpeningCheck()

class OpeningCheck implements EarlyCheck {
  done = false

  startsValid(raw: string): boolean {
    this.done ||= raw.startsWith(firstTag)
    return this.done || firstTag.startsWith(raw)
  }

  check(...[events, { preamble, hasPreamble, strayTags }, raw]: Parameters<EarlyCheck['check']>): Notice | undefined {
    if (this.done) return undefined
    if (hasPreamble) {
      this.done = true
      return preambleViolation(preamble)
    }
    const closeTag = strayTags.length > 0 ? leadingCloseTag(raw, preamble) : undefined
    const first = closeTag ?? events.find(({ type }) => type === 'channel.start')?.channel
    if (first === undefined) return undefined
    this.done = true
    return first === 'thinking' ? undefined : firstChannelViolation(first, preamble.length)
  }
}

const startAgain = 'Begin the next reply with `<channel:thinking>`, and write nothing before it.'

/** Something was written before the first tag. It is in no channel, so nobody may read it. */
export function preambleViolation(preamble: string): Notice {
  return violation('decision_preamble_before_first_channel', {
    what: 'The reply began with text outside of any channel and was not read further; the user saw none of it.',
    next: startAgain,
    extra: { preamble_chars: preamble.length, preamble_preview: truncate(preamble.trimStart(), previewLimit) },
  })
}

export function firstChannelViolation(firstChannel: string, offset: number): Notice {
  return violation('decision_first_channel_not_thinking', {
    what: `The first channel of the reply was \`${snippet(firstChannel)}\` instead of \`thinking\`; the reply was not read further.`,
    next: `${startAgain} Then write the \`action\` channel.`,
    extra: { first_channel: snippet(firstChannel), offset },
  })
}

/** The close tag, by name, that stands where the first open tag should. */
export function leadingCloseTag(raw: string, preamble: string): string | undefined {
  if (raw.startsWith('<channel:', preamble.length)) return undefined
  const tag = raw.slice(preamble.length, preamble.length + 100)
  return /^<[ \t]{0,4}(\/)[ \t]{0,4}channel:([\w-]{1,64})/i.exec(tag)?.slice(1).join('')
}
