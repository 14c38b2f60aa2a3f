import type { PriceOf } from '../core/cost/price.ts'
import { defaultExpirySettings, type ExpirySettings } from '../core/expiry/expiry.ts'
import { defaultEditableTailTokens } from '../core/hide/hide.ts'
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

/** The defaults with the given changes. Throws a RangeError for invalid limits. */
export function agentSettings(changes: Partial<AgentSettings> = {}): AgentSettings {
  const settings = { ...defaultAgentSettings, ...changes }
  for (const limit of ['creditCap', 'maxSeconds', 'maxMoney', 'editableTailTokens'] as const) {
    const value = settings[limit]
    if (value !== undefined && !(value >= 0)) {
      throw new RangeError(`\`${limit}\` must be 0 or greater, not ${value}. Leave it out for the default.`)
    }
  }
  for (const time of ['exitGraceMs', 'stopGraceMs', 'wrapUpSeconds'] as const) {
    const milliseconds = settings[time] * (time === 'wrapUpSeconds' ? 1000 : 1)
    if (!(milliseconds >= 0 && milliseconds <= MAX_TIMER_MS)) {
      throw new RangeError(`\`${time}\` must be 0 or greater and at most 24 days, not ${settings[time]}.`)
    }
  }
  const pause = settings.retryDelaysMs.find((ms) => !(ms >= 0 && ms <= MAX_TIMER_MS / 2)) // jitter makes a pause longer
  if (pause !== undefined) throw new RangeError(`\`retryDelaysMs\` must be 0 or greater and at most 12 days, not ${pause}.`)
  if (settings.maxMoney !== undefined && settings.priceOf === undefined) {
    throw new RangeError('`maxMoney` needs `priceOf`: set both, or leave `maxMoney` out.')
  }
  return settings
}

/** The longest time that a timer can wait. A timer with a longer time fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** The most tokens of a model's output: a quarter of its context window. The rest is for the prompt. */
export const outputLimit = (window: number): number => Math.max(1, Math.floor(window / 4))

/** The most tokens of system text and prompt together: the setting, or what the output leaves of the model's context window. */
export function contextLimit({ contextTokens, decision }: AgentSettings, window: number): number {
  return Math.min(contextTokens, window - Math.min(decision.maxTokens, outputLimit(window)))
}

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
