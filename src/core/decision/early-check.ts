import type { Notice } from '../block/tool.ts'
import type { ChannelEvent } from '../stream/channel.ts'
import type { ChannelParser } from '../stream/channel-parser.ts'
import { firstChannelViolation, preambleViolation } from './violations.ts'

/**
 * Checks the beginning of a response while the model is still writing it. A response that starts with text outside of a channel, or
 * with another channel than `thinking`, is stopped at once: the rest of it would be paid for and rejected.
 */
export interface EarlyCheck {
  /** True while all the text so far is the expected first tag or a beginning of it. Needs no parser. */
  startsValid(raw: string): boolean
  /** Checks after each chunk: the new events, the state of the parser and all the text so far. Reports a violation once. */
  check(
    events: readonly ChannelEvent[],
    parser: Pick<ChannelParser, 'preamble' | 'hasPreamble' | 'strayTags'>,
    raw: string,
  ): Notice | undefined
  /** True once the first channel is known or a violation was reported: later text is not checked. */
  isDone(): boolean
}

const firstTag = '<channel:thinking>'

export function createEarlyCheck(): EarlyCheck {
  let done = false
  return {
    isDone: () => done,
    startsValid(raw) {
      done ||= raw.startsWith(firstTag)
      return done || firstTag.startsWith(raw)
    },
    check(events, { preamble, hasPreamble, strayTags }, raw) {
      if (done) return undefined
      if (hasPreamble) {
        done = true
        return preambleViolation(preamble)
      }
      const closeTag = strayTags.length > 0 ? leadingCloseTag(raw, preamble) : undefined
      const first = closeTag ?? events.find(({ type }) => type === 'channel.start')?.channel
      if (first === undefined) return undefined
      done = true
      return first === 'thinking' ? undefined : firstChannelViolation(first, preamble.length)
    },
  }
}

/** The name, with its slash, of a close tag in the place of the first open tag; undefined when there is none. */
export function leadingCloseTag(raw: string, preamble: string): string | undefined {
  const tag = raw.slice(preamble.length, preamble.length + 100)
  return /^<[ \t]{0,4}(\/)[ \t]{0,4}channel:([\w-]{1,64})/i.exec(tag)?.slice(1).join('')
}
