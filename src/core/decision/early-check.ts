import type { Notice } from '../block/round.ts'
import type { ChannelEvent } from '../stream/channel.ts'
import type { ChannelParser } from '../stream/channel-parser.ts'
import { firstChannelViolation, preambleViolation } from './violations.ts'

/**
 * Checks the beginning of a response while the model is still writing it. A response that does not start with the channel `thinking` is
 * stopped at once. Otherwise the rest of it would be paid for, and then rejected.
 *
 * The response after a text without any channel is read to its end: if it has no channel either, it is taken as the answer. It is
 * stopped only if a tag follows its text.
 */
export interface EarlyCheck {
  /** True when `raw`, all the text so far, starts with the expected first tag or is a beginning of that tag. Needs no parser. */
  startsValid(raw: string): boolean
  /** Called after each chunk, with the new events, the parser and all the text so far. Reports a violation once. */
  check(
    events: readonly ChannelEvent[],
    parser: Pick<ChannelParser, 'preamble' | 'hasPreamble' | 'strayTags'>,
    raw: string,
  ): Notice | undefined
  /** True once the first channel is known or a violation was reported. Later text is not checked. */
  isDone(): boolean
}

const firstTag = '<channel:thinking>'

/** `hearsText` is true when a text without any channel may be an answer. */
export function createEarlyCheck(hearsText = false): EarlyCheck {
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
        if (hearsText && strayTags.length === 0 && !events.some(({ type }) => type === 'channel.start')) return undefined
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

/** The name in a close tag, such as `/thinking`, when the response starts with one. Undefined when it does not. */
export function leadingCloseTag(raw: string, preamble: string): string | undefined {
  const tag = raw.slice(preamble.length, preamble.length + 100)
  return /^<[ \t]{0,4}(\/)[ \t]{0,4}channel:([\w-]{1,64})/i.exec(tag)?.slice(1).join('')
}

/** Whether a violation says that a response was a text without any channel, as far as it was read. */
export function isPlainTextViolation({ code, raw_preview }: Notice): boolean {
  if (code === 'protocol_violation.decision_preamble_before_first_channel') return true
  return code === 'protocol_violation.decision_missing_protocol_channels' && typeof raw_preview === 'string' && raw_preview.trim() !== ''
}
