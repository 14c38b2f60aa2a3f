import type { Notice } from '../block/round.ts'
import type { ChannelEvent } from '../stream/channel.ts'
import type { ChannelParser } from '../stream/channel-parser.ts'
import { firstChannelViolation, preambleViolation } from './violations.ts'

/**
 * Checks the beginning of a response while the model is still writing it. A response must start with the channel `thinking`. If it does
 * not, the model call is aborted as soon as this is known. Otherwise the whole response would be paid for and then rejected.
 *
 * There is one exception. If the previous response had no channel at all, the model may answer with plain text. In this case text before
 * the first tag does not abort the call, but a tag after such text does.
 */
export interface EarlyCheck {
  /**
   * Called after each chunk with the new events, the parser and the text so far. Returns a notice when the response breaks the rule. Later
   * calls return no further notice.
   */
  check(
    events: readonly ChannelEvent[],
    parser: Pick<ChannelParser, 'preamble' | 'hasPreamble' | 'strayTags'>,
    raw: string,
  ): Notice | undefined
  /** True when the first channel is known or a notice was returned. Text that arrives later is not checked. */
  isDone(): boolean
}

const firstTag = '<channel:thinking>'

/**
 * How a response starts: `valid` with the expected first tag, `incomplete` with the beginning of this tag, or with another text. Only a
 * response that starts with another text has to be parsed for the early check.
 */
export const startOf = (raw: string): 'valid' | 'incomplete' | 'other' =>
  raw.startsWith(firstTag) ? 'valid' : firstTag.startsWith(raw) ? 'incomplete' : 'other'

/** Makes an early check for one response. `acceptsPlainText` is true when plain text without any channel may be the answer. */
export function createEarlyCheck(acceptsPlainText = false): EarlyCheck {
  let done = false
  return {
    isDone: () => done,
    check(events, { preamble, hasPreamble, strayTags }, raw) {
      if (done) return undefined
      if (hasPreamble) {
        if (acceptsPlainText && strayTags.length === 0 && !events.some(({ type }) => type === 'channel.start')) return undefined
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

/**
 * The name in a close tag, such as `/thinking`, if this tag is the first of the response. Undefined when the first tag is not a close tag.
 */
export function leadingCloseTag(raw: string, preamble: string): string | undefined {
  if (raw.startsWith('<channel:', preamble.length)) return undefined // most responses begin with an open tag
  const tag = raw.slice(preamble.length, preamble.length + 100)
  return /^<[ \t]{0,4}(\/)[ \t]{0,4}channel:([\w-]{1,64})/i.exec(tag)?.slice(1).join('')
}

/** True for a notice about a response that began with plain text in place of a channel. */
export function isPlainTextViolation({ code, raw_preview }: Notice): boolean {
  if (code === 'protocol_violation.decision_preamble_before_first_channel') return true
  return code === 'protocol_violation.decision_missing_protocol_channels' && typeof raw_preview === 'string' && raw_preview.trim() !== ''
}
