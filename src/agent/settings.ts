import type { PriceOf } from '../core/cost/price.ts'
import { defaultExpirySettings, type ExpirySettings } from '../core/expiry/expiry.ts'
import { defaultEditableTailTokens } from '../core/hide/hide.ts'
import {
  callback,
  checkOptions,
  expects,
  flag,
  group,
  InvalidOption,
  listOf,
  numberFrom,
  type OptionRule,
  type OptionRules,
  optional,
  text,
  wholeNumberFrom,
} from '../core/options.ts'
import { type CachePolicy, defaultCachePolicy } from '../core/render/cache-points.ts'
import { defaultEligibleMimes } from '../core/sources/source.ts'

/** How an agent behaves. Every setting has a default. */
export interface AgentSettings {
  /** How many decisions the model may make in a turn. Followups raise this limit. */
  readonly maxRounds: number
  /** How many rounds followups may add in total. Default: `maxRounds`. */
  readonly creditCap: number | undefined
  /**
   * How long a turn may take. Then the running model call or tool is aborted, and the turn wraps up. A response or result within
   * `stopGraceMs` after that still counts.
   */
  readonly maxSeconds: number | undefined
  /** How long the wrap-up after `maxSeconds` may take. Then the answer is a fixed text. */
  readonly wrapUpSeconds: number
  /** The most that a turn may cost, in the currency of `priceOf`. Requires `priceOf`. */
  readonly maxMoney: number | undefined
  readonly priceOf: PriceOf | undefined
  readonly decision: ModelSettings
  readonly wrapUp: ModelSettings
  readonly gate: ModelSettings
  /** How many rounds a turn may still take after the user has asked it to wrap up. */
  readonly wrapUpRounds: number
  /** How long a turn with a finished answer stays open for a late followup. */
  readonly exitGraceMs: number
  /**
   * How long a tool or a model may take to stop after it was aborted by a steer, by `maxSeconds` or by the tool's `timeoutMs`. Within this
   * time, the result of a tool still counts. A response of the model counts, too, unless a steer aborted it. After this time the turn goes
   * on without the tool or the model.
   */
  readonly stopGraceMs: number
  /** The pause before each retry of a failed model call. There are as many retries as pauses. */
  readonly retryDelaysMs: readonly number[]
  /** Maximum tokens of system text and prompt together. The model's context window may set a lower limit: see `contextLimit`. */
  readonly contextTokens: number
  readonly keepRecentTurns: number
  readonly cache: CachePolicy
  /** `react.hide` folds a block only if at most this many tokens come after it. The provider has to read these again. */
  readonly editableTailTokens: number
  readonly expiry: ExpirySettings
  readonly timezone: string
  /**
   * Journals the text of every prompt, not only its hashes, so that a replay can name the byte that differs. Doubles the size of the
   * journal.
   */
  readonly recordPrompts: boolean
  readonly sources: SourceSettings
  /** Accepts the action `clarify` as an `exit` with questions. The system text does not mention it: explain it in your instructions. */
  readonly clarify: boolean
}

/** Which files become sources. */
export interface SourceSettings {
  /** Types of files that can be cited, as MIME types or `kind/*` patterns. Web pages can always be cited. */
  readonly eligibleMimes: readonly string[]
}

/** Limits of one kind of model call. */
export interface ModelSettings {
  readonly maxTokens: number
  readonly temperature: number
}

/** The defaults with the given changes. Throws an `InvalidOption` for a setting that can not be used. */
export function agentSettings(changes: Partial<AgentSettings> = {}): AgentSettings {
  checkOptions('settings', changes, settingsRule)
  const given = Object.entries(changes).filter(([, value]) => value !== undefined) // otherwise undefined would replace a default
  const settings: AgentSettings = { ...defaultAgentSettings, ...Object.fromEntries(given) }
  if (settings.maxMoney !== undefined && settings.priceOf === undefined) {
    throw new InvalidOption('settings', 'maxMoney', '`maxMoney` needs `priceOf`: set both, or leave `maxMoney` out')
  }
  return settings
}

/** The longest time that a timer can wait. A timer with a longer time fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** The settings of an agent that is created without settings. */
export const defaultAgentSettings: AgentSettings = {
  maxRounds: 15,
  creditCap: undefined,
  maxSeconds: undefined,
  wrapUpSeconds: 30,
  maxMoney: undefined,
  priceOf: undefined,
  decision: { maxTokens: 20_000, temperature: 0.6 },
  wrapUp: { maxTokens: 3_000, temperature: 0.6 },
  gate: { maxTokens: 800, temperature: 0.2 },
  wrapUpRounds: 2,
  exitGraceMs: 0,
  stopGraceMs: 2_000,
  retryDelaysMs: [1_000, 4_000],
  contextTokens: 80_000,
  keepRecentTurns: 6,
  cache: defaultCachePolicy,
  editableTailTokens: defaultEditableTailTokens,
  expiry: defaultExpirySettings,
  timezone: 'UTC',
  recordPrompts: false,
  sources: { eligibleMimes: defaultEligibleMimes },
  clarify: false,
}

const modelSettings = (): OptionRule => {
  const rules: OptionRules<ModelSettings> = { maxTokens: wholeNumberFrom(1), temperature: numberFrom(0) }
  return optional(group('an object with `maxTokens` and `temperature`', rules))
}

const cachePolicy: OptionRules<CachePolicy> = { minRounds: numberFrom(0), offsetRounds: numberFrom(0), markUserInput: flag }

const expirySettings = {
  ...(Object.fromEntries(Object.keys(defaultExpirySettings).map((name) => [name, numberFrom(0)])) as OptionRules<ExpirySettings>),
  ttlSeconds: expects('a number or null', (value) => value === null || (typeof value === 'number' && !Number.isNaN(value))),
}

function isTimezone(value: unknown): boolean {
  if (typeof value !== 'string') return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: value })
    return true
  } catch {
    return false // the constructor throws for an unknown time zone
  }
}

const rules: OptionRules<AgentSettings> = {
  maxRounds: optional(wholeNumberFrom(1)),
  creditCap: optional(numberFrom(0)),
  maxSeconds: optional(numberFrom(0)),
  wrapUpSeconds: optional(numberFrom(0, Math.floor(MAX_TIMER_MS / 1000))),
  maxMoney: optional(numberFrom(0)),
  priceOf: optional(callback),
  decision: modelSettings(),
  wrapUp: modelSettings(),
  gate: modelSettings(),
  wrapUpRounds: optional(wholeNumberFrom(1)),
  exitGraceMs: optional(numberFrom(0, MAX_TIMER_MS)),
  stopGraceMs: optional(numberFrom(0, MAX_TIMER_MS)),
  retryDelaysMs: optional(listOf('milliseconds', numberFrom(0, Math.floor(MAX_TIMER_MS / 2)))), // jitter makes a pause longer
  contextTokens: optional(numberFrom(1)),
  keepRecentTurns: optional(wholeNumberFrom(0)),
  cache: optional(group('an object with the rules of the cache', cachePolicy)),
  editableTailTokens: optional(numberFrom(0)),
  expiry: optional(group('an object with the rules of expiry', expirySettings)),
  timezone: optional(expects('a time zone such as "Europe/Berlin"', isTimezone)),
  recordPrompts: optional(flag),
  sources: optional(group('an object with `eligibleMimes`', { eligibleMimes: listOf('MIME types', text) })),
  clarify: optional(flag),
}

/** The rule for the settings of an agent. */
export const settingsRule = group('an object with settings', rules)
