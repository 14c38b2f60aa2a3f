import { isId } from '../core/path/safety.ts'
import type { Upload } from '../tools/attachments/upload.ts'

/** What can be said to an agent, and what becomes of it at first. */
export interface Submission {
  readonly conversation: string
  readonly input: string
  /** All are taken or the message is refused, with `attachment.rejected`, and nothing of it is kept. */
  readonly attachments?: readonly Upload[]
  /** Stops the turn, as the user would; aborted before, nothing begins. To look away is enough to stop watching. */
  readonly signal?: AbortSignal
}

/** What was said will not be lost. */
export interface Accepted {
  /** `known`: it was said before under the same name, and nothing happens again. */
  readonly how: 'turn' | 'followup' | 'known'
  /** The turn that is at work on it; undefined when that is not known yet: a followup may become a turn of its own. */
  readonly turnId: string | undefined
  readonly eventId: string
}

export interface Delivery {
  /** The sender's own name for the event: sent again under it, nothing happens. Letters, digits, `_` and `-`. */
  readonly eventId?: string
}

export interface Notification extends Delivery {
  /** Who says it. */
  readonly source?: string
  /** The agent should do something about it: an answer waits for it, and it earns the turn a round. It never starts a turn. */
  readonly reactive?: boolean
}

export interface Feedback extends Delivery {
  readonly turnId: string
  readonly text?: string
  readonly reaction?: 'ok' | 'not_ok' | 'neutral'
  readonly origin?: 'user' | 'machine'
  readonly confidence?: number
}

/** It becomes part of a path. */
export function checkEventId(eventId: string): void {
  if (!isId(eventId)) throw new RangeError(`event id "${eventId}" must be made of letters, digits, "_" and "-"`)
}

/** Not every caller has a compiler: what is no text would begin a turn about nothing. */
export function checkText(what: string, text: unknown): void {
  if (typeof text !== 'string') throw new TypeError(`${what} must be a string, not ${text === null ? 'null' : `of type ${typeof text}`}`)
}
