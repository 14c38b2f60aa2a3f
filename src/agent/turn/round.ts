import { type BlockOrigin, type Draft, type Notice, noticeBlock, rawDecisionBlock } from '../../core/block/index.ts'
import { type BudgetCheck, checkBudget, remainingRounds } from '../../core/budget.ts'
import { hasReadableText } from '../../core/citations/sids.ts'
import { checkCall } from '../../core/decision/check-call.ts'
import type { CallDecision, Decision } from '../../core/decision/decision.ts'
import { type FallbackReason, salvageAnswer } from '../../core/decision/fallback-answer.ts'
import { afterRejectedResponse, budgetWrapUp, checkWrapUp, repairsExhausted, spendRound } from '../../core/decision/limits.ts'
import { readDecision } from '../../core/decision/read.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { assignIds } from '../../core/timeline/timeline.ts'
import type { Tool } from '../../tools/tool.ts'
import { callModel, type ModelCall } from '../model-call/call-model.ts'
import type { ModelResponse } from '../model-call/read-response.ts'
import { endForServiceError, responseReceived, serviceErrorNotice, thinkingDrafts, toDecisionResponse } from '../model-call/response.ts'
import { handleAnswer } from './answer.ts'
import { expireOldContent, fitContext } from './context-window.ts'
import { cancelledResult, type ExitReason, type ForcedEnd, finishTurn, type TurnResult } from './finish.ts'
import { applyInboxEvents } from './incoming-events.ts'
import { nextRound, type Progress } from './progress.ts'
import { commitCall, runToolCall } from './tool-call.ts'
import type { Turn } from './turn.ts'
import { refreshWorkspaceFacts } from './workspace.ts'

/** A round either leads to the next or has ended the turn. */
export type Step = { readonly progress: Progress } | { readonly result: TurnResult }

/** One decision and what came of it. */
export async function round(turn: Turn, before: Progress): Promise<Step> {
  if (turn.signal.aborted) return { result: cancelledResult(turn) }
  const informed = turn.workspaceHandle.isOpen(turn.turnId) ? await refreshWorkspaceFacts(turn, before) : before
  const told = turn.inbox.waiting.length > 0 ? await applyInboxEvents(turn, informed) : informed
  if (told.stopped || told.wrapUp?.rounds === 0) return end(turn, told, stopped)
  const may = mayGoOn(turn, told)
  if (may === 'stop:unpriced') return end(turn, told, { exitReason: 'budget', ending: 'unpriced' })
  if (may !== 'go') return wrapUp(turn, told, may)

  const expiring = expireOldContent(turn)
  if (expiring) await expiring
  const fitting = fitContext(turn, told)
  const progress = fitting instanceof Promise ? await fitting : fitting
  if (turn.inbox.hasSteer) return { progress } // it came while room was made: look at it before the model is asked
  const place = nextPlace(turn, progress.iteration)
  const model = progress.wrapUp ? { ...turn.settings.wrapUp, maxTokens: progress.wrapUp.maxTokens } : turn.settings.decision
  const asked = await callModel(turn, progress, place, model)
  const after = nextRound(progress)
  if (asked.interrupted) return interrupted(turn, after, place, asked)
  const { error, raw } = asked.response
  if (error && raw === '') return end(turn, after, endForServiceError(place, asked, error))
  return await decided(turn, after, place, asked, model.maxTokens)
}

function mayGoOn({ spending: bill, turnId, clock }: Turn, { budget }: Progress): BudgetCheck {
  const now = budget.maxMilliseconds === undefined ? budget.startedAt : Date.parse(clock.now())
  if (budget.maxMoney === undefined) return checkBudget(budget, now)
  const { money, unpriced, last } = bill.of(turnId)
  return checkBudget({ ...budget, money, unpriced }, now, last)
}

/** Refuses the response, acts on it, or concludes. */
function decided(turn: Turn, progress: Progress, place: BlockOrigin, asked: ModelCall, maxTokens: number): Promise<Step> {
  const { decision, said } = understand(turn, progress, asked.response, maxTokens)
  if (!decision) return refuse(turn, progress, place, asked, said)
  const admission = progress.wrapUp && checkWrapUp(progress.wrapUp, decision)
  if (admission?.verdict === 'stop') {
    return end(turn, progress, { ...stopped, changes: [responseReceived(place, asked)], drafts: thinkingDrafts(place, asked.response) })
  }
  if (decision.action !== 'call_tool') return handleAnswer(turn, progress, place, asked, decision, said)
  const admitted = admission?.verdict === 'call' ? { ...progress, wrapUp: admission.wrapUp } : progress
  return callTool(turn, { progress, admitted }, place, asked, decision, said)
}

/** What the model decided, if it can be told, and what there is to say about how it said it. */
function understand(
  { settings: { clarify }, ledger }: Turn,
  { attempts }: Progress,
  heard: ModelResponse,
  maxTokens: number,
): { readonly decision?: Decision; readonly said: readonly Notice[] } {
  if (heard.violation) return { said: [heard.violation] }
  const response = toDecisionResponse(heard, maxTokens)
  const delivered = attempts.at(-1)?.text
  const isSource = (sid: number) => ledger.timeline.sources.rows.some((row) => row.sid === sid)
  const options = delivered === undefined ? { clarify, isSource } : { clarify, isSource, delivered }
  const readable = readDecision(response, options)
  if (readable.ok) return { decision: readable.decision, said: readable.warnings }
  const reading = heard.showedContent() ? readDecision(response, { ...options, shown: true }) : readable // what is refused says whether it was seen
  if (reading.ok) return { decision: reading.decision, said: reading.warnings }
  const seen = heard.answer()?.text ?? ''
  const saved = salvageAnswer({
    delivered: hasReadableText(seen, isSource) ? seen : undefined, // two openings of its channel may hold half a citation each
    violation: reading.violation,
    cut: response.finishReason === 'length',
  })
  return { ...(saved && { decision: saved }), said: [...reading.warnings, reading.violation] }
}

async function callTool(
  turn: Turn,
  { progress, admitted }: { readonly progress: Progress; readonly admitted: Progress },
  place: BlockOrigin,
  asked: ModelCall,
  decision: CallDecision,
  warnings: readonly Notice[],
): Promise<Step> {
  const checked = checkCall(decision, turn.toolbox.signatures, asked.response)
  if (!checked.ok) return refuse(turn, progress, place, asked, [...warnings, checked.violation])
  const tool = turn.toolbox.find(decision.toolId) as Tool // the signature was found, and only tools have one that passes
  const { params } = checked
  const said = warnings.length > 0 ? [...warnings, ...checked.warnings] : checked.warnings
  const seen = turn.ledger.timeline
  await commitCall(turn, place, asked, { decision, tool, params, warnings: said }, seen)
  const after = await runToolCall(turn, admitted, place, { decision, tool, params }, seen)
  return repairsExhausted(after.repairs) ? end(turn, after, gaveUp) : { progress: after }
}

/** The response stands in the journal, the notice tells the model what was wrong with it, and nothing ran. */
async function refuse(turn: Turn, progress: Progress, place: BlockOrigin, asked: ModelCall, said: readonly Notice[]): Promise<Step> {
  const drafts: readonly Draft[] = [...thinkingDrafts(place, asked.response), ...said.map((each) => noticeBlock(place, each))]
  const changes = [responseReceived(place, asked)]
  const { repairs, next } = afterRejectedResponse(progress.repairs, remainingRounds(progress.budget))
  const after = { ...progress, repairs, ...(progress.wrapUp && { wrapUp: spendRound(progress.wrapUp) }) } // a wrap-up has few rounds
  if (next === 'exit') {
    const { error } = asked.response
    const violationCode = said.at(-1)?.code ?? ''
    return end(turn, after, error ? endForServiceError(place, asked, error, drafts) : { ...gaveUp, violationCode, changes, drafts })
  }
  await turn.ledger.commit((timeline) => [...changes, { type: 'blocks.appended', blocks: assignIds(timeline, drafts) }])
  return { progress: after } // when no round is left, the next one wraps up
}

/** A steer came while the model was writing: what it had written is kept for it to read, and the next round takes the steer in. */
async function interrupted(turn: Turn, progress: Progress, place: BlockOrigin, asked: ModelCall): Promise<Step> {
  if (turn.signal.aborted) return { result: cancelledResult(turn) }
  const { raw } = asked.response
  const response = responseReceived(place, asked, 'interrupted')
  const said = (timeline: Timeline) => ({ type: 'blocks.appended' as const, blocks: assignIds(timeline, [rawDecisionBlock(place, raw)]) })
  await turn.ledger.commit((timeline) => (raw.trim() === '' ? [response] : [response, said(timeline)]))
  return { progress }
}

/** The budget is used up: one call that may only answer, then fixed words. */
async function wrapUp(turn: Turn, progress: Progress, why: keyof typeof exhausted): Promise<Step> {
  const { exitReason, ending } = exhausted[why]
  const { turnId: turn_id } = turn
  turn.emit({ type: 'status', turn_id, iteration: progress.iteration, status: 'wrapping_up' })
  await fitContext(turn, progress)
  if (turn.inbox.hasSteer) return { progress }
  const place = nextPlace(turn, progress.iteration)
  const asked = await callModel(turn, progress, place, { ...turn.settings.wrapUp, maxTokens: budgetWrapUp.maxTokens }, true)
  const after = { ...progress, iteration: progress.iteration + 1 }
  if (asked.interrupted) return interrupted(turn, after, place, asked)
  const { decision, said } = understand(turn, progress, asked.response, budgetWrapUp.maxTokens)
  const admission = checkWrapUp(budgetWrapUp, decision)
  const exit = { reason: exitReason, deferrable: false }
  if (admission.verdict === 'answer') return handleAnswer(turn, progress, place, asked, admission.decision, said, exit)
  const { error, thrown } = asked.response
  if (thrown !== undefined) turn.onProblem({ where: 'model', error: thrown }) // the result tells of the limit, and the journal never of this
  const drafts = [...thinkingDrafts(place, asked.response), ...(error ? [serviceErrorNotice(place, error)] : [])]
  return end(turn, after, { exitReason, ending, changes: [responseReceived(place, asked)], drafts })
}

const exhausted: {
  readonly [V in Exclude<BudgetCheck, 'go' | 'stop:unpriced'>]: { readonly exitReason: ExitReason; readonly ending: FallbackReason }
} = {
  'wrap_up:rounds': { exitReason: 'max_iterations', ending: 'max_rounds' },
  'wrap_up:time': { exitReason: 'time', ending: 'time' },
  'wrap_up:money': { exitReason: 'budget', ending: 'money' },
}

const stopped = { exitReason: 'steer', ending: 'stopped' } as const
const gaveUp = { exitReason: 'protocol_violation', ending: 'protocol_violation' } as const

async function end(turn: Turn, progress: Progress, ended: ForcedEnd): Promise<Step> {
  return { result: await finishTurn(turn, progress, ended) }
}

/** The call id is made before the model is asked, so that a refused round has one to hang its notice on. */
function nextPlace(turn: Turn, iteration: number): BlockOrigin {
  return { turnId: turn.turnId, callId: turn.clock.randomHex(12), iteration, ts: turn.clock.now() }
}
