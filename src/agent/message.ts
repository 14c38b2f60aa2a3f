import { isId } from '../core/path/safety.ts'
import type { Upload } from '../tools/attachments/upload.ts'
import type { SteerMode } from './conversation/inbox.ts'

/** Options of `Agent.run`. */
export interface RunOptions {
  /** If one file is rejected, the message fails with `attachment.rejected`, and nothing of the message is stored. */
  readonly attachments?: readonly Upload[]
  /**
   * Takes the message back:
   * - If the message started a turn, this turn is stopped, as by `Agent.stop`.
   * - If the message is a followup that no turn has read yet, it is withdrawn. `result` rejects with an `AbortError`.
   * - If the message is a followup that the turn of another message has read, that turn goes on. `result` rejects with an `AbortError`.
   *
   * To stop only the reading of events, end the iteration over the events.
   */
  readonly signal?: AbortSignal
}

/** Options of every event that is sent to a conversation. */
export interface EventOptions {
  /**
   * An id chosen by the sender, so that an event can be sent twice without harm: the second event with this id has no effect. Allowed are
   * letters, digits, `_` and `-`.
   */
  readonly eventId?: string
}

/** Options of `Agent.send`. */
export interface SendOptions extends EventOptions {
  /** If one file is rejected, the message fails with `attachment.rejected`, and nothing of the message is stored. */
  readonly attachments?: readonly Upload[]
}

/** Options of `Agent.steer`. */
export interface SteerOptions extends EventOptions {
  /** Whether the turn changes direction (`redirect`, the default) or wraps up (`wrap_up`). */
  readonly mode?: SteerMode
  /**
   * The turn that the steer is for. If another turn is running when the steer arrives, the steer has no effect. By default the steer is for
   * the running turn.
   */
  readonly turnId?: string
}

/** What happened to a message that `Agent.send` has accepted. The message is in the journal, so it can not be lost. */
export interface Accepted {
  /**
   * `turn`: the message started a turn. `followup`: it is a followup. `known`: a message with this event id was accepted before, so this
   * message has no effect.
   */
  readonly how: 'turn' | 'followup' | 'known'
  /** The turn that reads the message. Undefined for a followup that waits between two turns, and for a known message. */
  readonly turnId: string | undefined
  readonly eventId: string
}

/** Options of `Agent.notify`. */
export interface NotifyOptions extends EventOptions {
  /** The service or program that sent the event. */
  readonly source?: string
  /**
   * True when the agent should react to the event. The running turn then gets an extra round. If its answer is already finished, the answer
   * is deferred. If no turn is running, the event waits, because it never starts a turn.
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

/** Throws when an event id has characters that are not allowed in a logical path. The event id becomes part of a path. */
export function checkEventId(eventId: string): void {
  if (!isId(eventId)) throw new RangeError(`event id "${eventId}" may contain only letters, digits, "_" and "-"`)
}

/** Throws when a value is not a string. Callers written in JavaScript may pass any value. */
export function checkText(what: string, text: unknown): void {
  if (typeof text !== 'string') throw new TypeError(`${what} must be a string, not ${text === null ? 'null' : `of type ${typeof text}`}`)
}
