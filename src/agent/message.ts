import {
  callback,
  checkOptions,
  expects,
  flag,
  group,
  listOf,
  numberFrom,
  type OptionRules,
  objectWith,
  oneOf,
  optional,
  text as textRule,
  wholeNumberFrom,
} from '../core/options.ts'
import { isId } from '../core/path/safety.ts'
import { isSchema } from '../core/standard-schema.ts'
import type { Upload } from '../tools/attachments/upload.ts'
import type { SteerMode } from './conversation/inbox.ts'
import type { FollowOptions } from './events/follow.ts'
import type { UntilClosedOptions } from './events/until-closed.ts'
import type { RecoverOptions } from './recovery/recover.ts'
import { maxInstructions, type TurnChoices } from './turn/turn-options.ts'
import type { WorkOptions } from './work/worker.ts'

/** Options of `Agent.run`. */
export interface RunOptions extends TurnChoices {
  /** If one file is rejected, the message fails with `attachment.rejected`, and nothing of the message is stored. */
  readonly attachments?: readonly Upload[]
  /**
   * Aborting this signal withdraws the message:
   * - If the message started a turn, this turn is stopped, as `Agent.stop` does.
   * - If the message is a followup that no turn has read yet, it is withdrawn. `result` rejects with an `AbortError`.
   * - If the message is a followup that the turn of another message has read, that turn continues. `result` rejects with an `AbortError`.
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
export interface SendOptions extends EventOptions, TurnChoices {
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
   * `turn`: the message started a turn. `followup`: the message became a followup. `known`: a message with this event id was accepted
   * before, so this message has no effect.
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
   * is deferred. If no turn is running, the event waits for the next turn, because an event of `notify` never starts a turn.
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

const upload: OptionRules<Upload> = {
  name: textRule,
  mime: optional(textRule),
  content: expects('a text or a Uint8Array', (value) => typeof value === 'string' || value instanceof Uint8Array),
}
// callers may pass objects with more fields than `Upload` has
const attachments = optional(listOf('files', group('a file such as { name, content }', upload, 'other names allowed')))
const signal = optional(objectWith('an AbortSignal', 'addEventListener', 'throwIfAborted'))
const eventId = optional(textRule)

const model = group('a model', { stream: callback, name: textRule, window: numberFrom(1) }, 'other names allowed')
const choices: OptionRules<TurnChoices> = {
  model: optional((value) => (typeof value === 'string' ? undefined : model(value))),
  maxRounds: optional(wholeNumberFrom(1)),
  instructions: optional(
    expects(`a text of at most ${maxInstructions} characters`, (value) => typeof value === 'string' && value.length <= maxInstructions),
  ),
  tools: optional(listOf('ids of tools', textRule)),
  ask: optional(listOf('ids of tools', textRule)),
  output: optional(expects('a schema, such as one of zod, valibot or arktype', isSchema)),
}

const feedback: OptionRules<FeedbackOptions> = {
  turnId: textRule,
  reaction: optional(oneOf('ok', 'not_ok', 'neutral')),
  origin: optional(oneOf('user', 'machine')),
  confidence: optional(numberFrom(0, 1)),
  eventId,
}

/** Makes a function that returns the options of a method, or throws an `InvalidOption`. */
export const check = <Options>(method: string, rules: OptionRules<Options>, what = 'an object with options') => {
  const rule = group(what, rules)
  return (options: Options): Options => {
    checkOptions(method, options, rule)
    return options
  }
}

/** Checks the options that callers pass to the methods of an agent. If an option has no rule, the compiler reports an error. */
export const checked = {
  run: check<RunOptions>('run', { attachments, signal, ...choices }),
  send: check<SendOptions>('send', { attachments, eventId, ...choices }),
  steer: check<SteerOptions>('steer', { mode: optional(oneOf('redirect', 'wrap_up')), turnId: optional(textRule), eventId }),
  notify: check<NotifyOptions>('notify', { source: optional(textRule), reactive: optional(flag), eventId }),
  feedback: check<FeedbackOptions>('feedback', feedback, 'an object with `turnId`'),
  follow: check<FollowOptions>('follow', { after: optional(wholeNumberFrom(0)), signal }),
  recover: check<RecoverOptions>('recover', { onSkipped: optional(callback) }),
  untilClosed: check<UntilClosedOptions>('untilClosed', { signal }),
  work: check<WorkOptions>('work', {
    conversations: optional(wholeNumberFrom(1)),
    perTenant: optional(wholeNumberFrom(1)),
    attempts: optional(wholeNumberFrom(1)),
    onResumed: optional(callback),
  }),
  drain: check<{ readonly withinMs: number; readonly handOver?: boolean }>('drain', { withinMs: numberFrom(0), handOver: optional(flag) }),
}

/** Throws when an event id has characters that are not allowed in a logical path. The event id becomes part of a path. */
export function checkEventId(eventId: string): void {
  if (!isId(eventId)) throw new RangeError(`event id "${eventId}" may contain only letters, digits, "_" and "-"`)
}

/** Throws when a value is not a string. Callers written in JavaScript may pass any value. */
export function checkText(what: string, text: unknown): void {
  if (typeof text !== 'string') throw new TypeError(`${what} must be a string, not ${text === null ? 'null' : `of type ${typeof text}`}`)
}
