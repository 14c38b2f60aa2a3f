import {
  expects,
  group,
  listOf,
  numberFrom,
  type OptionRule,
  type OptionRules,
  oneOf,
  optional,
  text,
  wholeNumberFrom,
} from '../core/options.ts'
import type { AuthSettings, BearerSettings } from './auth/bearer.ts'

/** Address, authentication, limits and timeouts of a server. */
export interface ServerSettings {
  /**
   * What the server does. `web`: it accepts messages and serves events, and runs no turns. Its agent needs `acceptOnly`. `worker`: it runs
   * turns, and answers only requests for health and metrics. `both`: it does all of this.
   */
  readonly role: 'web' | 'worker' | 'both'
  /** How many conversations the server runs at the same time. Further conversations wait in the store. */
  readonly workConversations: number
  /**
   * How many conversations of one tenant run at the same time, on all servers with the same store. Undefined means that there is no limit.
   */
  readonly workPerTenant: number | undefined
  /** After how many failed attempts a conversation is parked. A server does not try a parked conversation again by itself. */
  readonly workAttempts: number
  /** How many messages and turns of one tenant may wait in the store. Further messages are refused with the status 503. */
  readonly workBacklog: number
  readonly host: string
  readonly port: number
  readonly auth: AuthSettings
  /**
   * The origins whose pages may use the server from a browser, such as `https://shop.example`. Pages of the server itself are always
   * allowed.
   */
  readonly origins: readonly string[]
  /** Whether users see the thinking of the model. Operators always see it. */
  readonly userThinking: 'shown' | 'withheld'
  /** The maximum size of a request body, for paths that accept no files, bundles or chat histories. */
  readonly maxBodyBytes: number
  /** The maximum size of a request body, for paths that accept files, bundles or chat histories. */
  readonly maxUploadBytes: number
  readonly requestsPerMinute: number
  readonly turnsPerMinute: number
  /** How many turns of one user may run at the same time. */
  readonly runningTurns: number
  /** How many messages may wait at the same time until they are stored. Further messages are refused with the status 503. */
  readonly waitingMessages: number
  /**
   * While a message waits longer than this number of milliseconds until it is stored, or an entry of a running turn waits three times as
   * long, new messages are refused with the status 503. If only few messages and entries wait, no message is refused.
   */
  readonly messageWaitMs: number
  readonly followersPerUser: number
  /**
   * The time limit of a slow client of an event stream, in milliseconds. When too many events wait for the client, it has this time to read
   * half of them. Otherwise it is told to reconnect.
   */
  readonly slowFollowerMs: number
  /** How many files one user may download at the same time. */
  readonly downloadsPerUser: number
  /** How many milliseconds a client may take to read 64 KiB of a file. A slower download is ended. */
  readonly downloadIdleMs: number
  /**
   * The number of milliseconds without events after which the server sends a comment in an event stream. The comment shows the client that
   * the connection still works.
   */
  readonly keepAliveMs: number
  /** How many milliseconds the headers of a request may take to arrive. */
  readonly headersMs: number
  /** How many milliseconds the whole request may take to arrive. */
  readonly requestMs: number
  /** How many milliseconds running turns have to finish at shutdown. The next process resumes the turns that have not finished. */
  readonly drainMs: number
}

/** The default settings of a server. */
export const defaultServerSettings: ServerSettings = {
  role: 'both',
  workConversations: 1_000,
  workPerTenant: undefined,
  workAttempts: 10,
  workBacklog: 20_000,
  host: '127.0.0.1',
  port: 4127,
  auth: { kind: 'local' },
  origins: [],
  userThinking: 'shown',
  maxBodyBytes: 2 * 1024 * 1024,
  maxUploadBytes: 36 * 1024 * 1024,
  requestsPerMinute: 1_200,
  turnsPerMinute: 120,
  runningTurns: 32,
  waitingMessages: 64,
  messageWaitMs: 200,
  followersPerUser: 200,
  slowFollowerMs: 10_000,
  downloadsPerUser: 64,
  downloadIdleMs: 60_000,
  keepAliveMs: 3_000,
  headersMs: 30_000,
  requestMs: 300_000,
  drainMs: 10_000,
}

const bearer: OptionRules<BearerSettings> = {
  key: group('a key', { kind: oneOf('HS256', 'EdDSA', 'jwks') }, 'other names allowed'),
  issuer: optional(text),
  audience: optional(text),
}

const authKind = group('an object with `kind`', { kind: oneOf('local', 'bearer') }, 'other names allowed')

const auth: OptionRule = (value) => {
  const problem = authKind(value)
  if (problem) return problem
  const isBearer = (value as ServerSettings['auth']).kind === 'bearer'
  return group('an object with `kind`', { kind: oneOf('local', 'bearer'), ...(isBearer && bearer) })(value)
}

// 2 ** 31 - 1 is the longest time of a timer in Node. A timer with a longer time fires immediately
const milliseconds = numberFrom(0, 2 ** 31 - 1)
const positiveMilliseconds = numberFrom(1, 2 ** 31 - 1)

const isOrigin = (value: unknown): boolean =>
  typeof value === 'string' && URL.canParse(value) && new URL(value).origin === value && !value.includes('*') // `https://*.example` is an origin for `URL`, but patterns are not supported

const rules: OptionRules<ServerSettings> = {
  host: expects('the address to listen on, such as "127.0.0.1"', (value) => typeof value === 'string' && value !== ''),
  port: wholeNumberFrom(0, 65_535),
  auth,
  origins: listOf('origins', expects('an origin such as "https://shop.example"', isOrigin)),
  userThinking: oneOf('shown', 'withheld'),
  maxBodyBytes: numberFrom(0),
  maxUploadBytes: numberFrom(0),
  requestsPerMinute: numberFrom(0),
  turnsPerMinute: numberFrom(0),
  runningTurns: numberFrom(0),
  waitingMessages: numberFrom(1),
  messageWaitMs: positiveMilliseconds,
  followersPerUser: numberFrom(0),
  slowFollowerMs: positiveMilliseconds,
  downloadsPerUser: numberFrom(0),
  downloadIdleMs: positiveMilliseconds,
  keepAliveMs: positiveMilliseconds,
  headersMs: positiveMilliseconds,
  requestMs: positiveMilliseconds,
  drainMs: milliseconds,
  role: oneOf('web', 'worker', 'both'),
  workConversations: wholeNumberFrom(1),
  workPerTenant: optional(wholeNumberFrom(1)),
  workAttempts: wholeNumberFrom(1),
  workBacklog: wholeNumberFrom(0),
}

/** Settings that only a server with a port of its own needs. */
export type PortSettings = 'host' | 'port' | 'headersMs' | 'requestMs'

const { host: _, port: _port, headersMs: _headersMs, requestMs: _requestMs, ...withoutPort } = rules

/** The rules for the settings of a handler, which has no port. Every setting is optional. */
export const handlerSettingRules = Object.fromEntries(
  Object.entries(withoutPort).map(([name, rule]) => [name, optional(rule)]),
) as OptionRules<Omit<ServerSettings, PortSettings>>

/** The rule for the settings of a server. */
export const serverSettingsRule = group('an object with settings, such as `defaultServerSettings`', rules)
