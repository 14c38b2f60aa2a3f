import { isId } from '../core/path/safety.ts'
import type { Upload } from '../tools/attachments/upload.ts'
import type { SteerMode } from './conversation/inbox.ts'

/** Options of `Agent.run`. */
export interface RunOptions {
  /** If one file is rejected, the message fails with `attachment.rejected` and nothing is stored. */
  readonly attachments?: readonly Upload[]
  /**
   * Takes the message back. If it started a turn, that turn is stopped, as by `Agent.stop`. A followup of a turn that another message
   * started is withdrawn if the turn has not read it yet, and `result` rejects with an `AbortError`. If the turn has read it, only the wait
   * ends, with an `AbortError` that says so: the turn goes on. To stop only the reading of events, end the iteration.
   */
  readonly signal?: AbortSignal
}

/** An id that makes it safe to send an event twice. */
export interface EventOptions {
  /** An id chosen by the sender. A second event with the same id has no effect. It may have letters, digits, `_` and `-`. */
  readonly eventId?: string
}

/** Options of `Agent.send`. */
export interface SendOptions extends EventOptions {
  /** If one file is rejected, the message fails with `attachment.rejected` and nothing is stored. */
  readonly attachments?: readonly Upload[]
}

/** Options of `Agent.steer`. */
export interface SteerOptions extends EventOptions {
  /** What the turn shall do: change direction (`redirect`, the default), or wrap up. */
  readonly mode?: SteerMode
  /** The steer affects this turn only. By default it affects the turn that is running when it arrives. */
  readonly turnId?: string
}

/** What became of a message that `Agent.send` has accepted. The message is in the journal and can not be lost. */
export interface Accepted {
  /** `known` means that a message with this event id was accepted before, so this one has no effect. */
  readonly how: 'turn' | 'followup' | 'known'
  /** The turn that reads the message. Undefined while a followup waits between two turns. */
  readonly turnId: string | undefined
  readonly eventId: string
}

/** Options of `Agent.notify`. */
export interface NotifyOptions extends EventOptions {
  /** Where the event comes from. */
  readonly source?: string
  /**
   * True when the agent should react. The running turn then gets an extra round, and an answer that is already finished is deferred. The
   * event never starts a turn.
   */
  readonly reactive?: boolean
}

/** Options of `Agent.feedback`. */
export interface FeedbackOptions extends EventOptions {
  /** The turn that the feedback is about. */
  readonly turnId: string
  readonly reaction?: 'ok' | 'not_ok' | 'neutral'
  readonly origin?: 'user' | 'machine'
  readonly confidence?: number
}

/** Throws when an event id has characters that a logical path may not have. The event id becomes part of a path. */
export function checkEventId(eventId: string): void {
  if (!isId(eventId)) throw new RangeError(`event id "${eventId}" may contain only letters, digits, "_" and "-"`)
}

/** Throws when a text is not a string. Types do not protect callers that are written in JavaScript. */
export function checkText(what: string, text: unknown): void {
  if (typeof text !== 'string') throw new TypeError(`${what} must be a string, not ${text === null ? 'null' : `of type ${typeof text}`}`)
}
