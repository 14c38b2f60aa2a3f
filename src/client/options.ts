import type { FeedbackBody, TurnOptionsBody, TurnSubmission } from '../core/api/turn.ts'
import {
  callback,
  expects,
  filledText,
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
import type { FollowOptions } from './follow.ts'
import type { ClientOptions } from './request.ts'

/** Options of `Client.send`. */
export interface SendOptions {
  /**
   * What the message does to a running turn. A `followup` (the default) is read before the next decision. A `steer` interrupts the turn. A
   * `wrap_up` asks the turn to finish.
   */
  readonly mode?: NonNullable<TurnSubmission['mode']>
  /** The files of the message. A text is sent as UTF-8. */
  readonly files?: readonly { readonly name: string; readonly content: Blob | Uint8Array | string }[]
  /**
   * A key for one message. If a request fails, send the message again with the same key. The server accepts only one message for each key.
   */
  readonly idempotencyKey?: string
  /** Options of the turn that the message starts, for example `{ model: 'fast' }`. A steer can not have options. */
  readonly options?: TurnOptionsBody
  /**
   * Creates the conversation if it does not exist, as `agent.run` does. By default, a message to a conversation that does not exist is
   * refused with `conversation.missing`, so that a message to a deleted conversation does not create it again.
   */
  readonly create?: boolean
}

/** Options of `Client.feedback`. */
export interface FeedbackOptions {
  /** The turn that the feedback is about. */
  readonly turnId: string
  readonly reaction?: NonNullable<FeedbackBody['reaction']>
}

export const clientRules: OptionRules<ClientOptions> = {
  baseUrl: expects('the address of a server', (value) => typeof value === 'string' || value instanceof URL),
  token: optional(expects('a text or a function', (value) => typeof value === 'string' || typeof value === 'function')),
  fetch: optional(callback),
}

const file = group(
  'an object with `name` and `content`',
  { name: textRule, content: expects('a Blob, a Uint8Array or a text', isContent) },
  'other names allowed',
)

function isContent(value: unknown): boolean {
  return typeof value === 'string' || value instanceof Uint8Array || value instanceof Blob
}

export const sendRules: OptionRules<SendOptions> = {
  mode: optional(oneOf('followup', 'steer', 'wrap_up')),
  files: optional(listOf('files', file)),
  idempotencyKey: optional(textRule),
  create: optional(flag),
  options: optional(
    group('an object with options', {
      model: optional(textRule),
      tools: optional(listOf('ids of tools', textRule)),
      ask: optional(listOf('ids of tools', textRule)),
      output: optional(group('a JSON Schema', {}, 'other names allowed')),
    }),
  ),
}

export const feedbackRules: OptionRules<FeedbackOptions> = { turnId: filledText, reaction: optional(textRule) }

export const followRules: OptionRules<FollowOptions> = {
  after: optional(wholeNumberFrom(0)),
  signal: optional(objectWith('an AbortSignal', 'addEventListener')),
  onConnection: optional(callback),
  silenceMs: optional(numberFrom(1)),
}
