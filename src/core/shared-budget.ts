import { Failure } from './failure.ts'
import { callerKey, parseConversationKey, type Scope, type UserOrTenant } from './scope.ts'

/**
 * Tokens and money. Both are whole numbers, so that sums have no rounding errors. Money is in millionths of the currency of the setting
 * `priceOf`.
 */
export interface Amount {
  readonly tokens: number
  readonly micros: number
}

/** The highest amounts. An amount without a limit is left out. */
export type AmountLimits = Partial<Amount>

/** The limits and the amounts of a budget, as stores keep them. */
export interface BudgetSums {
  /** The limits that were set for this budget. Null when none were set. In this case the limits in the settings apply. */
  readonly limits: AmountLimits | null
  /** Amounts that an operator has allowed in addition. They are added to the limits. */
  readonly extra: Amount
  readonly spent: Amount
  /** What is reserved for model calls that run now. */
  readonly reserved: Amount
  /** The day in UTC of `spent` and `extra`, if the budget is for a day. */
  readonly day: string | null
}

/** The kinds of budgets that conversations share. The budget of a turn is not shared, so it is not in this list. */
export const budgetKinds = ['day', 'tenantDay', 'tenant', 'user', 'conversation'] as const
/**
 * Which calls a budget counts: all calls of a day, the calls of a tenant on one day, or all calls of a tenant, of a user or of a
 * conversation.
 */
export type BudgetKind = (typeof budgetKinds)[number]

export const nothing: Amount = { tokens: 0, micros: 0 }

const MICROS = 1_000_000

/** Converts money to the millionths that an `Amount` has. It is rounded up, so that calls are never counted too low. */
export const toMicros = (money: number): number => Math.min(Math.max(0, Math.ceil(money * MICROS - 1e-6)), Number.MAX_SAFE_INTEGER)
export const toMoney = (micros: number): number => micros / MICROS

/** Limits an amount to the numbers that every store can keep. Without this limit, a price such as 1e300 would make a budget unreadable. */
const inRange = (value: number): number => Math.min(Math.max(0, value), Number.MAX_SAFE_INTEGER)

export const addAmounts = (a: Amount, b: Amount): Amount => ({ tokens: inRange(a.tokens + b.tokens), micros: inRange(a.micros + b.micros) })
export const subtractAmounts = (a: Amount, b: Amount): Amount => ({
  tokens: inRange(a.tokens - b.tokens),
  micros: inRange(a.micros - b.micros),
})

/**
 * The name of a budget: `day`, `day/acme`, `tenant/acme`, `user/acme/web/ann` or `conversation/acme/web/ann/chat_1`. The parts of the name
 * are encoded in the same way as in the key of a conversation.
 */
export function budgetName(kind: BudgetKind, key: string): string {
  const { tenant, project, user } = scopeOf(key)
  const names: { readonly [Kind in BudgetKind]: () => string } = {
    day: () => 'day',
    tenantDay: () => ['day', tenant].join('/'),
    tenant: () => ['tenant', tenant].join('/'),
    user: () => ['user', tenant, project, user].join('/'),
    conversation: () => `conversation/${topKey(key)}`,
  }
  return names[kind]()
}

/** The budgets of a conversation, from the largest to the smallest. A sub-agent spends from the budget of the conversation at the top. */
export const budgetsOf = (key: string): readonly { readonly kind: BudgetKind; readonly name: string }[] =>
  budgetKinds.map((kind) => ({ kind, name: budgetName(kind, key) }))

/**
 * The budgets that belong to a user or tenant: all budgets with one of these `names`, and all whose name begins with one of these
 * `prefixes`.
 */
export function ownBudgets({ tenant, project, user }: UserOrTenant): {
  readonly names: readonly string[]
  readonly prefixes: readonly string[]
} {
  const name = encodeURIComponent(tenant)
  if (user === undefined) return { names: [`tenant/${name}`, `day/${name}`], prefixes: [`user/${name}/`, `conversation/${name}/`] }
  const ofUser = [name, encodeURIComponent(project), encodeURIComponent(user)].join('/')
  return { names: [`user/${ofUser}`], prefixes: [`conversation/${ofUser}/`] }
}

function scopeOf(key: string): Scope {
  const { tenant, project, user } = parseConversationKey(key).scope
  return { tenant: encodeURIComponent(tenant), project: encodeURIComponent(project), user: encodeURIComponent(user) }
}

function topKey(key: string): string {
  let top = key
  for (let caller = callerKey(top); caller !== undefined; caller = callerKey(top)) top = caller
  return top
}

/** The kind of the budget with this name. Undefined for a text that is not the name of a budget. */
export function budgetKindOf(name: string): BudgetKind | undefined {
  if (name === 'day') return 'day'
  const at = name.indexOf('/')
  const [kind, rest] = [name.slice(0, at), name.slice(at + 1)]
  if (at < 0 || rest === '') return undefined
  if (kind === 'conversation') return isWellFormed(rest) && topKey(rest) === rest ? 'conversation' : undefined
  const parts = rest.split('/')
  if (!parts.every(isEncoded)) return undefined
  if (kind === 'day' && parts.length === 1) return 'tenantDay'
  if (kind === 'tenant' && parts.length === 1) return 'tenant'
  return kind === 'user' && parts.length === 3 ? 'user' : undefined
}

/** The failure for a text that is not the name of a budget. */
export const invalidBudgetName = (name: string): Failure =>
  new Failure(
    'budget.invalid',
    `${JSON.stringify(name.slice(0, 100))} is not the name of a budget: use day, day/TENANT, tenant/TENANT, user/TENANT/PROJECT/USER or conversation/ID`,
  )

function isWellFormed(text: string): boolean {
  try {
    return encodeURIComponent(text) !== ''
  } catch {
    return false // the text has half of a surrogate pair
  }
}

function isEncoded(part: string): boolean {
  try {
    return part !== '' && encodeURIComponent(decodeURIComponent(part)) === part
  } catch {
    return false // the part has half of a surrogate pair, or `%` without a code
  }
}

const isDaily = (name: string): boolean => name === 'day' || name.startsWith('day/')

/**
 * The budget as it is on the day `today` (in UTC). In a budget for a day, `spent` and `extra` of an earlier day become 0. Those of the next
 * day are kept, because the clock may have been set back over midnight. Those of a day after the next become 0, because they come from a
 * wrong clock and would block the budget until that day.
 */
export function onDay<Sums extends BudgetSums>(name: string, sums: Sums, today: string): Sums {
  if (!isDaily(name) || sums.day === today || (sums.day !== null && sums.day === dayAfter(today))) return sums
  return { ...sums, spent: nothing, extra: nothing, day: today }
}

const DAY_MS = 24 * 3_600_000

const dayAfter = (day: string): string => new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10)

/** The limits of a budget. `usual` are the limits in the settings. Undefined when the budget has no limit. */
export function limitsOf({ limits, extra }: BudgetSums, usual: AmountLimits | undefined): AmountLimits | undefined {
  const base = limits ?? usual
  if (base?.tokens === undefined && base?.micros === undefined) return undefined
  return {
    ...(base.tokens !== undefined && { tokens: base.tokens + extra.tokens }),
    ...(base.micros !== undefined && { micros: base.micros + extra.micros }),
  }
}

/** What a budget has left for new calls. It is never negative. */
export function leftOf(sums: BudgetSums, usual: AmountLimits | undefined): AmountLimits {
  const limits = limitsOf(sums, usual)
  const left = (key: keyof Amount) => Math.max(0, (limits?.[key] ?? 0) - sums.spent[key] - sums.reserved[key])
  return {
    ...(limits?.tokens !== undefined && { tokens: left('tokens') }),
    ...(limits?.micros !== undefined && { micros: left('micros') }),
  }
}

/** The amount of a model call before it is made. `micros` is null when the price of the model is not known. */
export interface RequestedAmount {
  readonly tokens: number
  readonly micros: number | null
}

/** Whether a call fits into a budget. `unpriced`: the budget limits money, and the price of the call is not known. */
export function checkRequest(
  sums: BudgetSums,
  usual: AmountLimits | undefined,
  request: RequestedAmount,
): 'fits' | 'tokens' | 'money' | 'unpriced' {
  const limits = limitsOf(sums, usual)
  if (limits?.micros !== undefined && request.micros === null) return 'unpriced'
  const exceeds = (key: keyof Amount) => {
    const limit = limits?.[key]
    return limit !== undefined && sums.spent[key] + sums.reserved[key] + (request[key] ?? 0) > limit
  }
  if (exceeds('tokens')) return 'tokens'
  return exceeds('micros') ? 'money' : 'fits'
}
