import { finishCompaction } from '../core/compaction/finish.ts'
import type { Attempt } from '../core/compaction/overflow.ts'
import { type CompactionPlan, planCompaction } from '../core/compaction/plan.ts'
import type { SummaryRequest } from '../core/compaction/prompt.ts'
import { started } from '../core/compaction/report.ts'
import { calibrationOf } from '../core/estimate/calibration.ts'
import type { ResponseReceived } from '../core/timeline/change.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { Turn } from './turn.ts'

/** What the tails may take: announce and sources are capped, so this is enough without rendering them. */
const TAILS = 4_000

export interface Squeeze {
  /** The provider refused the prompt for its length, whatever we had estimated. */
  readonly force: true
  readonly attempt: Attempt
}

/** Makes room when the prompt would not fit. True when something left the context. Below the limit nothing is counted, let alone changed. */
export async function fitContext(turn: Turn, squeeze?: Squeeze): Promise<boolean> {
  const { timeline } = turn.ledger
  const { estimator, meter, renderer } = turn.view
  const slice = (value: Timeline) => renderer.slice(value, turn.turnId)
  const limit = contextLimit(turn)
  const calibration = calibrationOf(timeline)
  const systemTokens = turn.systemTokens()
  const room = limit / calibration - systemTokens - TAILS
  if (!squeeze && !meter.exceeds(timeline, slice(timeline), room)) return false

  const plan = planCompaction(timeline, {
    currentTurnId: turn.turnId,
    limit,
    systemTokens,
    renderedTokens: meter.tokens(timeline, slice(timeline)) + TAILS,
    calibration,
    keepRecentTurns: turn.settings.keepRecentTurns,
    ...squeeze,
    tokens: estimator,
    slice,
  })
  return plan === undefined ? false : carryOut(turn, plan, slice)
}

async function carryOut(
  turn: Turn,
  plan: CompactionPlan,
  slice: (timeline: Timeline) => ReturnType<Turn['view']['renderer']['slice']>,
): Promise<boolean> {
  turn.emit({ type: 'status', turn_id: turn.turnId, iteration: 0, status: 'compacting' })
  await turn.hooks.onBeforeCompaction(started(plan))
  const history = await summarise(turn, plan.history?.request)
  const prefix = await summarise(turn, plan.prefix?.request)
  if (turn.signal.aborted) return false // half a summary is none; whoever takes the turn up asks again
  const finished = finishCompaction(
    turn.ledger.timeline,
    plan,
    { history: history?.raw, prefix: prefix?.raw },
    { now: turn.clock.now(), tokens: turn.view.estimator, slice },
  )
  const responses = [history, prefix].filter((response) => response !== undefined)
  await turn.ledger.commit([...responses, ...(finished.status === 'completed' ? finished.changes : [])])
  await turn.hooks.onAfterCompaction(finished.report)
  return finished.status === 'completed'
}

/** What a model makes of what must leave. A failure is an empty answer: what that means is the plan's business. */
async function summarise(turn: Turn, request: SummaryRequest | undefined): Promise<ResponseReceived | undefined> {
  if (!request) return undefined
  const { system, user, maxOutputTokens: maxTokens, temperature } = request
  const parts = [{ type: 'text' as const, text: user }]
  let raw = ''
  let finish = 'other'
  const asked = { role: 'compaction' as const, system, parts, maxTokens, temperature, cacheKey: turn.conversationId }
  for await (const event of turn.models.compaction.stream(asked, turn.signal)) {
    if (event.type === 'text.delta') raw += event.text
    else if (event.type === 'finish') finish = event.finishReason
    else if (event.type === 'error') finish = 'error'
  }
  const common = { turn_id: turn.turnId, ts: turn.clock.now(), iteration: 0, call_id: turn.clock.randomHex(12), finish_reason: finish }
  return { type: 'response.received', role: 'compaction', ...common, raw: finish === 'error' ? '' : raw }
}

/** Never more than the model's window leaves after its answer. */
function contextLimit({ models, settings }: Turn): number {
  return Math.min(settings.contextTokens, models.decision.window - settings.decision.maxTokens)
}
