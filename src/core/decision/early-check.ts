import type { Notice } from '../block/notice.ts'
import type { ChannelEvent } from '../stream/channel.ts'
import type { ChannelParser } from '../stream/channel-parser.ts'
import { firstChannelViolation, leadingCloseTag, preambleViolation } from './opening.ts'

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
