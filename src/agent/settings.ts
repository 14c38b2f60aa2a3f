import type { PriceOf } from '../core/cost/price.ts'
import { defaultExpirySettings, type ExpirySettings } from '../core/expiry/expiry.ts'
import { defaultEditableTailTokens } from '../core/hide/hide.ts'
import type { Dialect } from '../core/model-event.ts'
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
  oneOf,
  optional,
  text,
  wholeNumberFrom,
} from '../core/options.ts'
import { type CachePolicy, defaultCachePolicy } from '../core/render/cache-points.ts'
import { budgetKinds } from '../core/shared-budget.ts'
import { defaultEligibleMimes } from '../core/sources/source.ts'
import type { BudgetLimits } from './budgets/budget-control.ts'

/** The settings of an agent. Every setting has a default. */
export interface AgentSettings {
  /** How many rounds a turn may have. Followups and reactive events add extra rounds. */
  readonly maxRounds: number
  /** How many extra rounds events may add to a turn in all. Default: `maxRounds`. */
  readonly creditCap: number | undefined
  /**
   * How many seconds a turn may take. After this time the running model call or tool is aborted, and the turn wraps up. If the model or the
   * tool still returns within `stopGraceMs`, its response or result is used.
   */
  readonly maxSeconds: number | undefined
  /**
   * How many seconds a call waits for the approval of a person. After this time the call fails and its tool does not run. Default: without
   * limit.
   */
  readonly approvalSeconds: number | undefined
  /**
   * How many seconds a turn may wait in all for a model provider that accepts no requests and says when to ask again. The wait is recorded
   * in the journal, and the turn needs no process until it is over. With 0, such a turn ends with an error.
   */
  readonly providerWaitSeconds: number
  /** How many seconds the wrap-up after `maxSeconds` may take. If there is no answer by then, the answer is a fixed text. */
  readonly wrapUpSeconds: number
  /** The highest cost of a turn, in the currency of `priceOf`. Requires `priceOf`. */
  readonly maxMoney: number | undefined
  /** The most tokens that all model calls of a turn together may take. */
  readonly maxTurnTokens: number | undefined
  readonly priceOf: PriceOf | undefined
  /** The budgets that conversations share, and what happens when one is reached. */
  readonly budgets: BudgetSettings
  /**
   * The form in which the model writes its decisions. `channels`: tool calls and answers are text with tags. `native`: tools are called in
   * the provider's own form. `auto`: Daybook chooses by the provider and the model.
   */
  readonly dialect: 'auto' | Dialect
  readonly decision: ModelSettings
  readonly wrapUp: ModelSettings
  readonly gate: ModelSettings
  /**
   * How a new conversation gets its title. `model`: the model is asked while the first turn runs. `first-words`: the title is the beginning
   * of the first message. A function gets the text of the first message and returns the title. With false, there is no title.
   */
  readonly title: 'model' | 'first-words' | false | ((text: string) => string)
  /** How many milliseconds a turn with a finished answer waits for the title that the model is writing. */
  readonly titleWaitMs: number
  /** How many rounds a turn may still have after the user has asked it to wrap up. */
  readonly wrapUpRounds: number
  /** How many milliseconds a turn with a finished answer stays open for a late followup. */
  readonly exitGraceMs: number
  /**
   * How many milliseconds a tool or a model may take to stop after it was aborted. A steer, `maxSeconds` or the tool's `timeoutMs` may
   * abort it. If a tool returns within this time, its result is used. If the model completes its response within this time, the response is
   * used, but not after a steer. When the time is over, the turn continues without the tool or the model.
   */
  readonly stopGraceMs: number
  /**
   * How many bytes the result of a tool may have. The output of a larger result is stored as a file of the turn, and the result shows only
   * its beginning. If the output is a stream, at most 64 MiB of it are read.
   */
  readonly maxResultBytes: number
  /**
   * How many bytes of memory the timelines of all conversations together may take after their turns have ended. If the timeline of a
   * conversation is kept, the next turn need not load its journal. The timeline that was used last is always kept.
   */
  readonly keptTimelineBytes: number
  /**
   * How often a repeatable tool is started for one call. If the process died each time, the call fails with `gave_up` and the turn
   * continues.
   */
  readonly maxCallAttempts: number
  /** How many milliseconds `lookUp` of a tool may take. */
  readonly lookUpTimeoutMs: number
  /** The pause before each retry of a failed model call, in milliseconds. There are as many retries as pauses. */
  readonly retryDelaysMs: readonly number[]
  /**
   * The maximum number of tokens of system text and prompt together. If the model's context window is small, the limit is lower: see
   * `contextLimit`.
   */
  readonly contextTokens: number
  readonly keepRecentTurns: number
  readonly cache: CachePolicy
  /**
   * `react.hide` hides a block only if at most this many tokens follow it in the prompt. After the block is hidden, the provider has to
   * process these tokens again, because its cache ends at the changed block.
   */
  readonly editableTailTokens: number
  readonly expiry: ExpirySettings
  readonly timezone: string
  /**
   * Whether the journal stores the text of every prompt, and not only its hashes. With the text, a replay can report the first byte that
   * differs. The journal becomes about twice as large.
   */
  readonly recordPrompts: boolean
  readonly sources: SourceSettings
  /**
   * Whether the model may use the action `clarify`, which is read as an `exit` with questions. The system text does not mention this
   * action, so your instructions have to explain it.
   */
  readonly clarify: boolean
}

/**
 * The usual limits of budgets that conversations share, in all processes with the same store. `agent.budgets.set` sets other limits for
 * single budgets. `day` is for all conversations together, and `tenantDay` for those of a tenant, both from midnight to midnight in UTC.
 */
export interface BudgetSettings {
  readonly day?: BudgetLimits
  readonly tenantDay?: BudgetLimits
  readonly tenant?: BudgetLimits
  readonly user?: BudgetLimits
  readonly conversation?: BudgetLimits
  /**
   * What a turn does when its next model call would exceed a budget. `wrap-up` (the default): it answers with the results that it has.
   * `ask`: it waits until an operator raises the budget. `cheaper-model`: it calls `cheaperModel`, and wraps up if this call would also
   * exceed the budget.
   */
  readonly whenReached?: 'wrap-up' | 'ask' | 'cheaper-model'
  /** The name of one of the `models` of the agent. */
  readonly cheaperModel?: string
}

/** Decides which files become sources. */
export interface SourceSettings {
  /** Types of files that can be cited, as MIME types or as patterns such as `image/*`. Web pages can always be cited. */
  readonly eligibleMimes: readonly string[]
}

/** The output limit and the temperature for one kind of model call, such as `decision` or `gate`. */
export interface ModelSettings {
  readonly maxTokens: number
  readonly temperature: number
}

/** Returns the defaults with the given changes. Throws an `InvalidOption` for an invalid setting. */
export function agentSettings(changes: Partial<AgentSettings> = {}): AgentSettings {
  checkOptions('settings', changes, settingsRule)
  const given = Object.entries(changes).filter(([, value]) => value !== undefined) // a setting that is undefined would replace its default
  const settings: AgentSettings = { ...defaultAgentSettings, ...Object.fromEntries(given) }
  if (settings.maxMoney !== undefined && settings.priceOf === undefined) {
    throw new InvalidOption('settings', 'maxMoney', '`maxMoney` needs `priceOf`: set both, or leave `maxMoney` out')
  }
  const limited = budgetKinds.find((kind) => settings.budgets[kind]?.money !== undefined)
  if (limited !== undefined && settings.priceOf === undefined)
    throw new InvalidOption('settings', `budgets.${limited}.money`, '`money` of a budget needs `priceOf`: set both, or leave `money` out')
  return settings
}

/** The longest time that `setTimeout` can wait. With a longer time it fires immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** The settings of an agent that is created without settings. */
export const defaultAgentSettings: AgentSettings = {
  maxRounds: 15,
  creditCap: undefined,
  maxSeconds: undefined,
  approvalSeconds: undefined,
  providerWaitSeconds: 3_600,
  wrapUpSeconds: 30,
  maxMoney: undefined,
  maxTurnTokens: undefined,
  budgets: {},
  priceOf: undefined,
  dialect: 'auto',
  decision: { maxTokens: 20_000, temperature: 0.6 },
  wrapUp: { maxTokens: 3_000, temperature: 0.6 },
  gate: { maxTokens: 800, temperature: 0.2 },
  title: 'model',
  titleWaitMs: 5_000,
  wrapUpRounds: 2,
  exitGraceMs: 0,
  stopGraceMs: 2_000,
  maxResultBytes: 1_048_576,
  keptTimelineBytes: 4 * 1_048_576, // about 80 short conversations
  maxCallAttempts: 5,
  lookUpTimeoutMs: 10_000,
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

const isTitleSetting = (value: unknown): boolean =>
  value === 'model' || value === 'first-words' || value === false || typeof value === 'function'

function isTimezone(value: unknown): boolean {
  if (typeof value !== 'string') return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: value })
    return true
  } catch {
    return false
  }
}

const limits = () =>
  optional(group('an object with `tokens` and `money`', { tokens: optional(wholeNumberFrom(0)), money: optional(numberFrom(0, 1e9)) }))

const budgetSettings: OptionRules<BudgetSettings> = {
  ...{ day: limits(), tenantDay: limits(), tenant: limits(), user: limits(), conversation: limits() },
  whenReached: optional(oneOf('wrap-up', 'ask', 'cheaper-model')),
  cheaperModel: optional(text),
}

const rules: OptionRules<AgentSettings> = {
  maxRounds: optional(wholeNumberFrom(1)),
  creditCap: optional(numberFrom(0)),
  maxSeconds: optional(numberFrom(0)),
  providerWaitSeconds: optional(numberFrom(0, 1e9)),
  approvalSeconds: optional(numberFrom(1, 1e9)),
  wrapUpSeconds: optional(numberFrom(0, Math.floor(MAX_TIMER_MS / 1000))),
  maxMoney: optional(numberFrom(0)),
  maxTurnTokens: optional(wholeNumberFrom(1)),
  budgets: optional(group('an object with budgets', budgetSettings)),
  priceOf: optional(callback),
  dialect: optional(oneOf('auto', 'channels', 'native')),
  decision: modelSettings(),
  wrapUp: modelSettings(),
  gate: modelSettings(),
  title: optional(expects('"model", "first-words", false or a function', isTitleSetting)),
  titleWaitMs: optional(numberFrom(0, MAX_TIMER_MS)),
  wrapUpRounds: optional(wholeNumberFrom(1)),
  exitGraceMs: optional(numberFrom(0, MAX_TIMER_MS)),
  stopGraceMs: optional(numberFrom(0, MAX_TIMER_MS)),
  maxResultBytes: optional(wholeNumberFrom(1_000)),
  keptTimelineBytes: optional(wholeNumberFrom(0)),
  maxCallAttempts: optional(wholeNumberFrom(1)),
  lookUpTimeoutMs: optional(numberFrom(1, MAX_TIMER_MS)),
  // half of the longest time, because jitter may make a pause longer
  retryDelaysMs: optional(listOf('milliseconds', numberFrom(0, Math.floor(MAX_TIMER_MS / 2)))),
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
