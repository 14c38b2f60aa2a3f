import type { BlockOrigin, Notice } from '../../core/block/index.ts'
import type { RepairCount } from '../../core/budget.ts'
import { checkCall } from '../../core/decision/check-call.ts'
import { type CallDecision, callsOf, type RequestedCall } from '../../core/decision/decision.ts'
import { snippet } from '../../core/decision/violations.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { CallFinished, Wait } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { callIdAt } from '../../tools/call-id.ts'
import { type Invocation, unfitResult } from '../../tools/invoke.ts'
import { failed, withNotices } from '../../tools/outcome.ts'
import { storeOutcome } from '../../tools/stored-outcome.ts'
import type { Outcome, Tool } from '../../tools/tool.ts'
import type { ModelCall } from '../model-call/model-call.ts'
import { mayNeedApproval } from '../tools.ts'
import { approvalWait, deniedOutcome, enterLateResult, judge, waitingChange } from '../waits/approvals.ts'
import type { Progress } from './progress.ts'
import { takeTitle } from './title.ts'
import { type CheckedCall, commitCalls, commitReturned, runTool, type ShownCall } from './tool-call.ts'
import type { Turn } from './turn.ts'

/** A response with several calls, or with one call that may need an approval. */
interface SeveralCalls {
  readonly origin: BlockOrigin
  readonly call: ModelCall
  readonly decision: CallDecision
  readonly warnings: readonly Notice[]
}

/**
 * Runs the calls of a response and commits their results. Each call is checked by itself. A call that breaks a rule gets a result with the
 * error, and the other calls run. If all calls break rules, no tool runs, and the notices are returned.
 */
export async function runSeveralCalls(
  turn: Turn,
  progress: Progress,
  { origin, call, decision, warnings }: SeveralCalls,
): Promise<Progress | { readonly rejected: readonly Notice[] }> {
  const { agent, conversation } = turn
  const checks = callsOf(decision).map((requested, index) => {
    const ofCall = { ...origin, callId: callIdAt(origin.callId, index) }
    return { requested, origin: ofCall, checked: checkCall(requested, agent.toolbox.signatures, call.response) }
  })
  const violations = checks.flatMap(({ checked }) => (checked.ok ? [] : [checked.violation]))
  if (violations.length === checks.length) return { rejected: [...warnings, ...violations] }

  const { timeline: seen } = conversation.ledger
  const shown: ShownCall[] = []
  const finished: CallFinished[] = []
  const calls: PendingCall[] = []
  let group = 0
  const inGroup = () => (decision.further ? { group } : {})
  const waits: Wait[] = []
  for (const { requested, origin: ofCall, checked } of checks) {
    const { code } = requested
    const notices = calls.length === 0 ? warnings : []
    if (checked.ok) {
      const tool = agent.toolbox.find(requested.toolId) as Tool // the cast is safe, because `checkCall` returns ok only for a tool that exists
      const accepted: CheckedCall = { origin: ofCall, tool, params: checked.params, code, notes: decision.notes }
      const verdict = mayNeedApproval(agent, tool) ? await judge(turn, accepted) : 'allow'
      if (verdict === 'ask') waits.push(approvalWait(turn, accepted))
      if (verdict === 'deny') finished.push(await finishedChange(turn, ofCall, deniedOutcome(tool.id)))
      if (calls.length > 0 && !(tool.parallel && calls.at(-1)?.parallel)) group++
      shown.push({ ...accepted, toolId: tool.id, warnings: [...notices, ...checked.warnings], ...inGroup() })
      calls.push(verdict === 'allow' ? runnableCall(turn, accepted, seen) : settledCall(accepted, verdict))
    } else {
      const outcome = refusedOutcome(checked.violation)
      shown.push({ ...refusedCall(ofCall, requested, notices), ...inGroup() })
      finished.push(await finishedChange(turn, ofCall, outcome))
      calls.push({ origin: ofCall, toolId: snippet(requested.toolId), parallel: true, settle: () => outcome })
    }
  }
  const waiting = waitingChange(turn, waits, calls.length > waits.length)
  const { titleBlocks, untitled } = takeTitle(progress)
  await commitCalls(turn, { origin, call, notes: decision.notes, titleBlocks }, shown, seen, [...finished, ...waiting])
  return settleCalls(turn, untitled, calls)
}

const refusedOutcome = (violation: Notice): Outcome => failed(violation.code, violation.message, { notices: [violation] })

/** The block of a rejected call. It may name a tool that does not exist, and its parameters may have any form. */
function refusedCall(origin: BlockOrigin, { toolId, params, code }: RequestedCall, warnings: readonly Notice[]): ShownCall {
  const shown = isObject(params) ? (params as JsonObject) : { params } // the value was parsed from JSON
  return { origin, toolId: snippet(toolId), params: shown, code, warnings }
}

/** A call whose block is in the journal and whose result is not. */
export interface PendingCall {
  readonly origin: BlockOrigin
  readonly toolId: string
  /** True when the call may run at the same time as its neighbours. */
  readonly parallel: boolean
  /** Undefined when the call was rejected, or when its parameters are no longer known. */
  readonly checked?: CheckedCall
  /**
   * Returns the outcome of the call if it is known, or runs the tool. `entered` is the timeline with the results of earlier calls. A call
   * that waits has no outcome yet. Later calls run meanwhile, and their results are committed after the result of this call.
   */
  settle(progress: Progress, entered: Timeline | undefined): Outcome | Promise<Invocation> | 'waits'
}

/** A call whose tool does not run: a person has to approve it first, or the rule of the agent refuses it. */
const settledCall = (checked: CheckedCall, verdict: 'ask' | 'deny'): PendingCall => ({
  origin: checked.origin,
  toolId: checked.tool.id,
  parallel: checked.tool.parallel === true,
  checked,
  settle: () => (verdict === 'ask' ? 'waits' : deniedOutcome(checked.tool.id)),
})

/** A call that runs its tool. `seen` is the timeline that the model saw. A call that runs after others also sees their results. */
export const runnableCall = (turn: Turn, checked: CheckedCall, seen: Timeline, notices: readonly Notice[] = []): RunnableCall => ({
  origin: checked.origin,
  toolId: checked.tool.id,
  parallel: checked.tool.parallel === true,
  checked,
  async settle(progress, entered) {
    const invocation = await runTool(turn, progress, checked, entered ?? seen)
    return notices.length === 0 ? invocation : { ...invocation, outcome: withNotices(invocation.outcome, notices) }
  },
})

interface RunnableCall extends PendingCall {
  settle(progress: Progress, entered: Timeline | undefined): Promise<Invocation>
}

/**
 * Runs calls and commits their results in the order of the calls:
 *
 *   calls     a parallel   b parallel   c   d parallel
 *   running   ├─ a ─────────┤ ├─ c ─┤ ├─ d ─┤
 *             ├─ b ──┤
 *   journal          b finished, a result, b result, c result, d result
 *
 * Calls that are not parallel run alone. If a tool returns before a tool of an earlier call, its outcome is committed as `call.finished`.
 * If the agent is closed while a tool runs, the result of this tool is not committed.
 */
export async function settleCalls(turn: Turn, before: Progress, calls: readonly PendingCall[]): Promise<Progress> {
  const results = createResultQueue(turn, before, calls)
  const running: Promise<void>[] = []
  for (const [index, call] of calls.entries()) {
    if (!call.parallel) await allOf(running.splice(0))
    running.push(settleOne(turn, results, index, call))
    if (!call.parallel) await allOf(running.splice(0))
  }
  await allOf(running)
  return results.progress
}

/** Waits until all calls have ended, even if one of them fails. Otherwise a tool could still run when the turn ends. */
async function allOf(running: readonly Promise<void>[]): Promise<void> {
  const failure = (await Promise.allSettled(running)).find(({ status }) => status === 'rejected')
  if (failure?.status === 'rejected') throw failure.reason
}

async function settleOne(turn: Turn, results: ResultQueue, index: number, call: PendingCall): Promise<void> {
  const { ledger, signal } = turn.conversation
  const settled = call.settle(results.progress, results.isEmpty ? undefined : ledger.timeline)
  if (settled === 'waits') return
  if (!(settled instanceof Promise)) return results.add(index, settled, 'stored')
  const { outcome, stopped } = await settled
  if (outcome.later) return enterLateResult(turn, call.origin, outcome.later, true)
  if (!(stopped && signal.aborted)) await results.add(index, outcome)
}

interface ResultQueue {
  /** Commits an outcome: as a result if the results of all earlier calls are committed, otherwise as `call.finished`. */
  add(index: number, outcome: Outcome, stored?: 'stored'): Promise<void>
  /** True when no result was committed. */
  readonly isEmpty: boolean
  readonly progress: Progress
}

function createResultQueue(turn: Turn, before: Progress, calls: readonly PendingCall[]): ResultQueue {
  const outcomes = new Map<number, Outcome>()
  let progress = before
  let next = 0
  let committing = false

  async function commitNext(outcome: Outcome): Promise<void> {
    const { origin, toolId, checked } = calls[next] as PendingCall // `outcomes` has only indices of calls
    const judged = { ...progress, repairs: before.repairs }
    const after = await commitReturned(turn, judged, origin, toolId, outcome, checked)
    progress = { ...after, repairs: next === 0 ? after.repairs : repairsOfRound(progress.repairs, after.repairs) }
    next++
  }

  return {
    async add(index, outcome, stored) {
      const mustWait = committing || index !== next
      outcomes.set(index, mustWait && !stored ? await storeFinished(turn, calls[index] as PendingCall, outcome) : outcome)
      if (committing) return // the loop that is committing results now also commits this outcome
      committing = true
      try {
        for (let due = outcomes.get(next); due; due = outcomes.get(next)) await commitNext(due)
      } finally {
        committing = false
      }
    },
    get isEmpty() {
      return next === 0
    },
    get progress() {
      return progress
    },
  }
}

/**
 * The count of repairs after several results of one round. If one call was accepted, it is the count after an accepted round. Otherwise
 * only the first refusal is counted.
 */
export const repairsOfRound = (first: RepairCount, later: RepairCount): RepairCount =>
  later.consecutive === 0 && later.refusal === undefined ? later : first

/** Commits `call.finished`. Returns the outcome, or an error if the outcome can not be stored. */
async function storeFinished(turn: Turn, { origin, toolId }: PendingCall, outcome: Outcome): Promise<Outcome> {
  let change: CallFinished
  let kept = outcome
  try {
    change = await finishedChange(turn, origin, outcome)
  } catch (error) {
    turn.agent.onProblem({ where: `result of ${toolId}`, error })
    kept = unfitResult
    change = await finishedChange(turn, origin, kept)
  }
  await turn.conversation.ledger.commit([change])
  return kept
}

export async function finishedChange(
  { turnId, agent, conversation }: Turn,
  { callId }: BlockOrigin,
  outcome: Outcome,
): Promise<CallFinished> {
  const stored = await storeOutcome(outcome, conversation.blobs)
  return { type: 'call.finished', turn_id: turnId, ts: agent.clock.now(), call_id: callId, ...stored }
}
