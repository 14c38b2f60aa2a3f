import type { PriceOf } from '../core/cost/price.ts'
import { defaultExpirySettings, type ExpirySettings } from '../core/expiry/expiry.ts'
import { type CachePolicy, defaultCachePolicy } from '../core/render/cache-points.ts'
import { defaultEligibleMimes } from '../core/sources/source.ts'

/** How an agent behaves when nobody says otherwise. */
export interface AgentSettings {
  /** Decisions a turn may take; followups add to it. */
  readonly maxRounds: number
  /** Rounds that followups may add in all; as many as `maxRounds` when not said. */
  readonly creditCap: number | undefined
  readonly maxSeconds: number | undefined
  /** In the currency of `priceOf`, without which there can be no limit. */
  readonly maxMoney: number | undefined
  readonly priceOf: PriceOf | undefined
  readonly decision: ModelSettings
  readonly wrapUp: ModelSettings
  readonly gate: ModelSettings
  /** Rounds left to a turn that was told to wrap up. */
  readonly wrapUpRounds: number
  /** How long a finished answer waits for a late word of the user. */
  readonly exitGraceMs: number
  /** How long a tool or a model may take to stop. */
  readonly stopGraceMs: number
  /** Pauses before a failed model call is tried again; as many tries as pauses. */
  readonly retryDelaysMs: readonly number[]
  /** Tokens of system text and prompt together, at most; never more than the model's window leaves. */
  readonly contextTokens: number
  readonly keepRecentTurns: number
  readonly cache: CachePolicy
  readonly expiry: ExpirySettings
  readonly timezone: string
  /** Keeps every prompt's text, not only its hash: replay then names the very byte that differs. Doubles what is stored. */
  readonly recordPrompts: boolean
  readonly sources: SourceSettings
  /** Takes the action `clarify` for an `exit` whose answer asks. Not offered in the system text: say so in your instructions. */
  readonly clarify: boolean
}

export interface SourceSettings {
  /** Files of these types can be cited: types and `kind/*` patterns. Web pages always can. */
  readonly eligibleMimes: readonly string[]
}

export interface ModelSettings {
  readonly maxTokens: number
  readonly temperature: number
}

/** With what the owner of the agent wants otherwise. A wish that cannot be kept is refused here, not in the middle of a turn. */
export function agentSettings(wanted: Partial<AgentSettings> = {}): AgentSettings {
  const settings = { ...defaultAgentSettings, ...wanted }
  for (const limit of ['creditCap', 'maxSeconds', 'maxMoney'] as const) {
    const said = settings[limit]
    if (said !== undefined && !(said >= 0))
      throw new RangeError(`\`${limit}\` must be a number from 0 on, not ${said}: leave it out for no limit`)
  }
  if (settings.maxMoney !== undefined && settings.priceOf === undefined) {
    throw new RangeError('a limit of money needs prices: give `priceOf` beside `maxMoney`')
  }
  return settings
}

export const defaultAgentSettings: AgentSettings = {
  maxRounds: 15,
  creditCap: undefined,
  maxSeconds: undefined,
  maxMoney: undefined,
  priceOf: undefined,
  decision: { maxTokens: 20_000, temperature: 0.6 },
  wrapUp: { maxTokens: 3_000, temperature: 0.6 },
  gate: { maxTokens: 800, temperature: 0.2 },
  wrapUpRounds: 2,
  exitGraceMs: 0,
  stopGraceMs: 5_000,
  retryDelaysMs: [1_000, 4_000],
  contextTokens: 80_000,
  keepRecentTurns: 6,
  cache: defaultCachePolicy,
  expiry: defaultExpirySettings,
  timezone: 'UTC',
  recordPrompts: false,
  sources: { eligibleMimes: defaultEligibleMimes },
  clarify: false,
}
