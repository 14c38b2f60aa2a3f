import { type BlockOrigin, type Draft, type Notice, noticeBlock } from '../../core/block/index.ts'
import {
  afterRejectedResponse,
  type Budget,
  type BudgetCheck,
  checkBudget,
  checkWrapUp,
  remainingRounds,
  repairsExhausted,
  spendRound,
} from '../../core/budget.ts'
import { checkCall } from '../../core/decision/check-call.ts'
import type { CallDecision, FinalDecision } from '../../core/decision/decision.ts'
import { isPlainTextViolation } from '../../core/decision/early-check.ts'
import { isSameAnswer } from '../../core/decision/same-answer.ts'
import type { ServiceError } from '../../core/model-event.ts'
import type { ReachedLimit } from '../../core/timeline/change.ts'
import { assignIds } from '../../core/timeline/timeline.ts'
import type { Tool } from '../../tools/tool.ts'
import type { BudgetRefusal } from '../budgets/call-budgets.ts'
import { callModel } from '../model-call/call-model.ts'
import { type ModelCall, readResponseDecision, responseChanges, thinkingDrafts } from '../model-call/model-call.ts'
import { endForServiceError } from '../model-call/service-errors.ts'
import type { ModelSettings } from '../settings.ts'
import { mayNeedApproval } from '../tools.ts'
import { askForBudget } from '../waits/budget-wait.ts'
import { waitForProvider } from '../waits/provider-wait.ts'
import { goOnOrWait } from '../waits/waits.ts'
import { needsFacts, refreshAnnouncedFacts } from '../workspace/workspace.ts'
import { attemptDrafts, noticeDrafts, withAttempt } from './closing.ts'
import { prepareContext } from './context-window.ts'
import type { ModelAnswer } from './finish.ts'
import { applyInboxEvents } from './incoming-events.ts'
import { handleInterruption, leaveToNextProcess } from './interruption.ts'
import type { OutputCheck } from './output.ts'
import { answered, ended, endUnpriced, nextOrigin, nextRound, type Progress, type RoundResult } from './progress.ts'
import { runSeveralCalls } from './several-calls.ts'
import { enterTitle, takeTitle } from './title.ts'
import { commitCalls, runToolCall } from './tool-call.ts'
import type { Turn } from './turn.ts'
import { wrapUpTurn } from './wrap-up.ts'

/**
 * Runs one round. It makes blocks from waiting events, checks the budget, and shortens the timeline if the prompt is too long. Then it
 * calls the model and handles the response.
 */
export async function round(turn: Turn, before: Progress): Promise<RoundResult> {
  const { conversation } = turn
  const { inbox, ledger } = conversation
  if (conversation.signal.aborted || conversation.handOver.requested) return { kind: 'ended', progress: before, end: { kind: 'cancelled' } }
  const titled = before.title ? await enterTitle(turn, before) : before
  const announced = needsFacts(turn, titled) ? await refreshAnnouncedFacts(turn, titled) : titled
  const withEvents = ledger.timeline.inbox.length > 0 ? await applyInboxEvents(turn, announced) : announced
  if (withEvents.stopped || withEvents.wrapUp?.rounds === 0) return ended(withEvents, stoppedByUser)
  const budget = checkTurnBudget(turn, withEvents.budget)
  if (budget === 'stop:unpriced') return endUnpriced(withEvents)
  if (budget !== 'go') return wrapUpTurn(turn, withEvents, reachedLimits[budget])

  const prepared = prepareContext(turn, withEvents)
  const progress = prepared instanceof Promise ? await prepared : prepared
  // a steer has arrived, or the time limit is reached, since this round began: the next round handles this
  if (inbox.hasSteer() || inbox.timeUp) return { kind: 'next', progress }
  const origin = nextOrigin(turn, progress.iteration)
  const call = await callModel(turn, progress, origin, callSettings(turn, progress))
  if ('refused' in call) return endOrAsk(turn, progress, call.refused)
  const after = nextRound(progress)
  if (call.interrupted) return handleInterruption(turn, after, origin, call)
  if (conversation.signal.aborted) return leaveToNextProcess(turn, after, origin, call)
  return await handleResponse(turn, after, origin, call)
}

/** Checks the limits of a turn before a round. Time in which the turn waited, for example for a person or a late result, is left out. */
function checkTurnBudget(
  { turnId, agent: { clock, models }, conversation: { spending, inbox, ledger } }: Turn,
  budget: Budget,
): BudgetCheck {
  if (inbox.timeUp) return 'wrap_up:time' // the timer may fire shortly before the clock reaches the time limit
  const { waited_ms: waited = 0 } = ledger.timeline.openTurn ?? {}
  const now = budget.maxMilliseconds === undefined ? budget.startedAt : Date.parse(clock.now()) - waited
  const { maxMoney, maxTokens } = budget
  if (maxMoney === undefined && maxTokens === undefined) return checkBudget(budget, now)
  const { money, unpriced, last, usage } = spending.of(turnId)
  const tokens = usage.uncached + usage.cacheRead + usage.cacheWrite + usage.output
  const hasPrice = unpriced.length === 0 && (budget.rounds > 0 || spending.hasPrice(models.decision.name))
  return checkBudget({ ...budget, money, tokens, unpriced: !hasPrice }, now, last)
}

/** The reached limit for each result of a budget check. */
const reachedLimits: { readonly [Check in Exclude<BudgetCheck, 'go' | 'stop:unpriced'>]: ReachedLimit } = {
  'wrap_up:rounds': 'rounds',
  'wrap_up:time': 'time',
  'wrap_up:money': 'money',
  'wrap_up:tokens': 'money',
}

/** The limits of the model call in this round. */
const callSettings = ({ agent: { settings } }: Turn, { wrapUp }: Progress): ModelSettings =>
  wrapUp ? { ...settings.wrapUp, maxTokens: wrapUp.maxTokens } : settings.decision

/**
 * Handles a response. If the provider failed, ends the turn. Otherwise rejects the response, runs its tool call, or ends the turn with its
 * answer.
 */
export function handleResponse(turn: Turn, progress: Progress, origin: BlockOrigin, call: ModelCall): RoundResult | Promise<RoundResult> {
  const { error, raw } = call.response
  if (error && raw === '') return endOrWait(turn, progress, origin, call, error)
  const { decision, kept, notices } = readResponseDecision(turn, progress, call.response, callSettings(turn, progress).maxTokens)
  if (!decision) return rejectResponse(turn, progress, origin, call, notices, turn.agent.output ? undefined : kept)
  const admission = progress.wrapUp && checkWrapUp(progress.wrapUp, decision)
  if (admission?.verdict === 'stop') {
    return ended(progress, {
      ...stoppedByUser,
      last: { origin, call },
      drafts: thinkingDrafts(origin, call.response),
    })
  }
  if (decision.action !== 'call_tool') {
    const exitReason = progress.wrapUp ? 'steer' : decision.action
    const answer: ModelAnswer = { origin, call, decision, warnings: notices, exitReason, deferrable: true }
    return turn.agent.output ? answeredWithOutput(turn, progress, answer, turn.agent.output) : answered(progress, answer)
  }
  const admitted = admission?.verdict === 'call' ? { ...progress, wrapUp: admission.wrapUp } : progress
  return callTool(turn, { progress, admitted }, origin, call, decision, notices)
}

async function endOrWait(turn: Turn, progress: Progress, origin: BlockOrigin, call: ModelCall, error: ServiceError): Promise<RoundResult> {
  return (await waitForProvider(turn, progress, error)) ?? ended(progress, endForServiceError(origin, call, error))
}

/** Ends a turn whose next call does not fit into a budget, or lets it wait until an operator raises the budget. */
async function endOrAsk(turn: Turn, progress: Progress, refusal: BudgetRefusal): Promise<RoundResult> {
  if (refusal.because === 'unpriced') return endUnpriced(progress)
  const asks = turn.agent.settings.budgets.whenReached === 'ask'
  const waiting = asks ? await askForBudget(turn, progress, refusal) : undefined
  return waiting ?? wrapUpTurn(turn, progress, 'money')
}

/** Ends the turn with an answer that matches the output schema of the turn. Rejects any other answer. */
async function answeredWithOutput(turn: Turn, progress: Progress, answer: ModelAnswer, output: OutputCheck): Promise<RoundResult> {
  const checked = await output.check(answer.decision)
  if ('answer' in checked) return answered(progress, { ...answer, decision: checked as FinalDecision })
  return rejectResponse(turn, progress, answer.origin, answer.call, [...answer.warnings, checked as Notice])
}

/**
 * Checks the tool call of a response, commits it (`commitCalls`), then runs the tool and commits the result (`runToolCall`). A response
 * with several calls, or with a call that may need an approval, goes to `runSeveralCalls`.
 */
async function callTool(
  turn: Turn,
  { progress, admitted }: { readonly progress: Progress; readonly admitted: Progress },
  origin: BlockOrigin,
  call: ModelCall,
  decision: CallDecision,
  warnings: readonly Notice[],
): Promise<RoundResult> {
  const { toolbox } = turn.agent
  const found = toolbox.find(decision.toolId)
  if (decision.further || mayNeedApproval(turn.agent, found)) {
    const after = await runSeveralCalls(turn, admitted, { origin, call, decision, warnings })
    return 'rejected' in after ? rejectResponse(turn, progress, origin, call, after.rejected) : afterCalls(turn, after)
  }
  const checked = checkCall(decision, toolbox.signatures, call.response)
  if (!checked.ok) return rejectResponse(turn, progress, origin, call, [...warnings, checked.violation])
  const tool = found as Tool // the cast is safe, because `checkCall` returns ok only for a tool that exists
  // This timeline has the blocks that the model saw. Since the model was called, only events and titles may have been committed.
  const { timeline } = turn.conversation.ledger
  const { notes, code } = decision
  const shown = { origin, toolId: tool.id, params: checked.params, code, warnings: [...warnings, ...checked.warnings] }
  const { titleBlocks, untitled } = admitted.title ? takeTitle(admitted) : { titleBlocks: [], untitled: admitted }
  await commitCalls(turn, { origin, call, notes, titleBlocks }, [shown], timeline)
  return afterCalls(turn, await runToolCall(turn, untitled, { origin, tool, params: checked.params, code, notes }, timeline))
}

function afterCalls(turn: Turn, progress: Progress): RoundResult | Promise<RoundResult> {
  if (turn.conversation.ledger.timeline.openTurn?.waits) return goOnOrWait(turn, progress).then(unlessExhausted)
  return unlessExhausted({ kind: 'next', progress })
}

const unlessExhausted = (next: RoundResult): RoundResult =>
  next.kind === 'next' && repairsExhausted(next.progress.repairs) ? ended(next.progress, tooManyViolations) : next

/**
 * Commits the response with notices that tell the model which rules it broke. No tool runs. `kept` is an answer in the response that the
 * user has already seen. If another round can follow, `kept` is committed as an attempt, that is an answer that did not end the turn. If no
 * other round can follow, or if `kept` repeats the last attempt, `kept` ends the turn.
 */
async function rejectResponse(
  turn: Turn,
  progress: Progress,
  origin: BlockOrigin,
  call: ModelCall,
  notices: readonly Notice[],
  kept?: FinalDecision,
): Promise<RoundResult> {
  const plainText = notices.some(isPlainTextViolation)
  const { repairs, next } = afterRejectedResponse(progress.repairs, remainingRounds(progress.budget), plainText)
  const after = { ...progress, repairs, ...(progress.wrapUp && { wrapUp: spendRound(progress.wrapUp) }) }
  if (kept && (next !== 'repair' || after.wrapUp?.rounds === 0 || isSameAnswer(progress.attempts.at(-1)?.text ?? '', kept.answer))) {
    const exitReason = progress.wrapUp ? 'steer' : kept.action
    return answered(progress, { origin, call, decision: kept, warnings: notices, exitReason, deferrable: true })
  }
  const drafts: readonly Draft[] = [...thinkingDrafts(origin, call.response), ...notices.map((notice) => noticeBlock(origin, notice))]
  if (next === 'exit') {
    const { error } = call.response
    const violationCode = notices.at(-1)?.code ?? ''
    return ended(
      after,
      error ? endForServiceError(origin, call, error, drafts) : { ...tooManyViolations, violationCode, last: { origin, call }, drafts },
    )
  }
  const response = responseChanges(origin, call)
  const { titleBlocks, untitled } = takeTitle(after)
  await turn.conversation.ledger.commit((timeline) => {
    const attempt = kept ? attemptDrafts(origin, timeline, kept, progress, 'second_action') : []
    const unknown = kept ? noticeDrafts(origin, timeline, kept, []) : []
    return [...response, { type: 'blocks.appended', blocks: assignIds(timeline, [...titleBlocks, ...drafts, ...unknown, ...attempt]) }]
  })
  if (kept) return { kind: 'next', progress: withAttempt(untitled, { text: kept.answer, iteration: origin.iteration, truncated: false }) }
  return { kind: 'next', progress: untitled } // if no round is left, the next call of `round` wraps up the turn
}

const stoppedByUser = { exitReason: 'steer', fallback: 'stopped' } as const
const tooManyViolations = { exitReason: 'protocol_violation', fallback: 'protocol_violation' } as const
