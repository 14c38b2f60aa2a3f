import { isObject, type JsonObject } from '../../core/json.ts'
import { InvalidOption } from '../../core/options.ts'
import { type Amount, toMicros } from '../../core/shared-budget.ts'
import type { Wait } from '../../core/timeline/change.ts'
import type { BudgetRefusal } from '../budgets/call-budgets.ts'
import type { TurnEntries } from '../conversation/history.ts'
import type { Progress, RoundResult } from '../turn/progress.ts'
import type { Turn } from '../turn/turn.ts'
import { waitingChange } from './approvals.ts'
import { canGoOn, decisionId, openWaits, readDecisionEvent } from './wait-events.ts'

/**
 * Lets the turn wait until a person raises the budget that its next call would exceed. Undefined when a person was already asked in this
 * turn and has not raised the budget.
 */
export async function askForBudget(turn: Turn, progress: Progress, refusal: BudgetRefusal): Promise<RoundResult | undefined> {
  const { turnId, agent, conversation } = turn
  if (refusal.question === undefined) return undefined
  const entries = await conversation.entriesOfTurn(turnId)
  const asked = askedIn(entries)
  if (asked.some((wait) => !isApproved(wait, entries))) return undefined
  const { approvalSeconds } = agent.settings
  const wait: Wait = {
    wait_id: `budget-${turnId}-${asked.length + 1}`,
    kind: 'budget',
    question: refusal.question,
    budget: refusal.name,
    schema: extraSchema,
    approver: 'operator',
    ...(approvalSeconds !== undefined && {
      expires_at: new Date(Date.parse(agent.clock.now()) + approvalSeconds * 1000).toISOString(),
    }),
  }
  await conversation.ledger.commit(waitingChange(turn, [wait], false))
  return { kind: 'waiting', progress, waits: openWaits(conversation.ledger.timeline) }
}

/** The schema of what a person allows in addition: tokens, money, or both. */
const extraSchema: JsonObject = { type: 'object', properties: { tokens: { type: 'integer' }, money: { type: 'number' } } }

/** Throws unless an approval says how much to add to the budget. */
export function checkExtra(params: JsonObject | undefined): void {
  const { tokens, money } = params ?? {}
  const isAmount = (value: unknown) => value === undefined || (typeof value === 'number' && value >= 0 && value <= 1e9)
  if (isAmount(tokens) && isAmount(money) && Number(tokens ?? 0) + Number(money ?? 0) > 0) return
  throw new InvalidOption('decide', 'params', 'say how much to add to the budget: `params: { tokens: 100000 }`, or `{ money: 0.5 }`')
}

function extraIn(params: JsonObject | undefined): Amount {
  const { tokens, money } = isObject(params) ? params : {}
  return { tokens: typeof tokens === 'number' ? Math.floor(tokens) : 0, micros: typeof money === 'number' ? toMicros(money) : 0 }
}

/** The waits of this turn for a larger budget. */
const askedIn = ({ changes }: TurnEntries): readonly Wait[] =>
  changes.flatMap((change) => (change.type === 'turn.waiting' ? change.waits.filter(({ kind }) => kind === 'budget') : []))

/**
 * Whether a person has raised the budget. If a person has refused to raise it, or has not answered in time, the turn does not ask again.
 */
const isApproved = ({ wait_id }: Wait, { events }: TurnEntries): boolean =>
  readDecisionEvent(events.get(decisionId(wait_id)))?.approved === true

/**
 * Ends the wait for a larger budget if a person has decided, its time is over, or a user steers. Otherwise the turn still waits. The budget
 * is raised in the same commit that ends the wait, so it is raised only once.
 */
export async function endBudgetWait(turn: Turn, progress: Progress): Promise<RoundResult | undefined> {
  const { turnId, agent, conversation } = turn
  const waits = openWaits(conversation.ledger.timeline).filter(({ kind }) => kind === 'budget')
  if (waits.length === 0) return undefined
  const ts = agent.clock.now()
  if (!canGoOn(conversation.ledger.timeline, waits, turnId, ts)) return { kind: 'waiting', progress, waits }
  const { inbox } = conversation.ledger.timeline
  const decided = waits.flatMap((wait) => {
    const event = inbox.find(({ event_id }) => event_id === decisionId(wait.wait_id))
    const decision = readDecisionEvent(event)
    return event && decision ? [{ wait, event, decision }] : []
  })
  const raises = decided.flatMap(({ wait, decision }) =>
    decision.approved && wait.budget !== undefined ? [{ name: wait.budget, amount: extraIn(decision.params) }] : [],
  )
  const event_ids = decided.map(({ event }) => event.event_id)
  await conversation.ledger.commit(
    [
      ...(event_ids.length > 0 ? [{ type: 'event.folded' as const, ts, event_ids, turn_id: turnId }] : []),
      { type: 'turn.resumed', turn_id: turnId, ts, wait_ids: waits.map(({ wait_id }) => wait_id) },
    ],
    undefined,
    raises,
  )
  return undefined
}
