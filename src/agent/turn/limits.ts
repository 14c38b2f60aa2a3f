import { type Budget, type BudgetCheck, checkBudget } from '../../core/budget.ts'
import type { ReachedLimit } from '../../core/timeline/change.ts'
import type { Turn } from './turn.ts'

/** Checks the limits of a turn before a round. Time in which the turn waited for a person or a late result does not count. */
export function checkTurnBudget(
  { turnId, agent: { clock, models }, conversation: { spending, inbox, ledger } }: Turn,
  budget: Budget,
): BudgetCheck {
  if (inbox.timeUp) return 'wrap_up:time' // the timer may fire shortly before the clock reaches the time limit
  const { waited_ms: waited = 0 } = ledger.timeline.openTurn ?? {}
  const now = budget.maxMilliseconds === undefined ? budget.startedAt : Date.parse(clock.now()) - waited
  if (budget.maxMoney === undefined) return checkBudget(budget, now)
  const { money, unpriced, last } = spending.of(turnId)
  const hasPrice = unpriced.length === 0 && (budget.rounds > 0 || spending.hasPrice(models.decision.name))
  return checkBudget({ ...budget, money, unpriced: !hasPrice }, now, last)
}

/** Gives the wrap-up the time that the turn has left, but at least `wrapUpSeconds`. If the turn has no time limit, the wrap-up has none. */
export function limitWrapUpTime(
  { agent: { clock, settings }, conversation: { inbox, ledger } }: Turn,
  { startedAt, maxMilliseconds }: Budget,
): void {
  if (maxMilliseconds === undefined) return
  const { waited_ms: waited = 0 } = ledger.timeline.openTurn ?? {}
  inbox.limitTime(Math.max(startedAt + maxMilliseconds + waited - Date.parse(clock.now()), settings.wrapUpSeconds * 1000))
}

/** The limit that a check has found. */
export const reachedLimits: { readonly [Check in Exclude<BudgetCheck, 'go' | 'stop:unpriced'>]: ReachedLimit } = {
  'wrap_up:rounds': 'rounds',
  'wrap_up:time': 'time',
  'wrap_up:money': 'money',
}
