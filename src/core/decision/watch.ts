import type { Notice } from '../block/notice.ts'
import type { ChannelEvent } from '../stream/channel.ts'
import type { ChannelParser } from '../stream/channel-parser.ts'
import { firstChannelViolation, leadingCloseTag, preambleViolation } from './opening.ts'

/** Looks at a response while it is written, so that one that begins wrongly can be stopped before it is paid for. */
export interface Watch {
  /** Before any parser is asked: all that was written is how a response should begin, or the beginning of that. */
  beginsWell(raw: string): boolean
  /** After each piece: what the parser made of it, what it has seen so far, and all that was written. The first violation, once. */
  step(
    events: readonly ChannelEvent[],
    seen: Pick<ChannelParser, 'preamble' | 'hasPreamble' | 'strayTags'>,
    raw: string,
  ): Notice | undefined
  /** It has seen how the response begins: what comes later is not its business. */
  readonly begun: boolean
}

const opening = '<channel:thinking>'

export const createWatch = (): Watch => new OpeningWatch()

class OpeningWatch implements Watch {
  begun = false

  beginsWell(raw: string): boolean {
    this.begun ||= raw.startsWith(opening)
    return this.begun || opening.startsWith(raw)
  }

  step(...[events, { preamble, hasPreamble, strayTags }, raw]: Parameters<Watch['step']>): Notice | undefined {
    if (this.begun) return undefined
    if (hasPreamble) {
      this.begun = true
      return preambleViolation(preamble)
    }
    const closeTag = strayTags.length > 0 ? leadingCloseTag(raw, preamble) : undefined
    const first = closeTag ?? events.find(({ type }) => type === 'channel.start')?.channel
    if (first === undefined) return undefined
    this.begun = true
    return first === 'thinking' ? undefined : firstChannelViolation(first, preamble.length)
  }
}
