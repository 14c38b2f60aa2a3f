import { type Draft, type Notice, notice, type Place } from '../core/block/index.ts'
import { remainingRounds, type Verdict, verdict } from '../core/budget.ts'
import { checkCall } from '../core/decision/check-call.ts'
import type { CallDecision } from '../core/decision/decision.ts'
import type { Ending } from '../core/decision/last-words.ts'
import { readDecision } from '../core/decision/read.ts'
import { rejected, salvage } from '../core/decision/repairs.ts'
import { admit, budgetWrapUp } from '../core/decision/wrap-up.ts'
import { enter } from '../core/timeline/enter.ts'
import type { Tool } from '../tools/tool.ts'
import { act } from './act.ts'
import { type Asked, ask } from './ask.ts'
import { fitContext } from './compact.ts'
import { conclude } from './conclude.ts'
import { expire } from './expire.ts'
import { cancelled, type Ended, type ExitReason, finish, type TurnResult } from './finish.ts'
import { foldEvents } from './fold.ts'
import { nextRound, type Progress } from './progress.ts'
import { responseOf, responseReceived, thoughts } from './response.ts'
import type { Turn } from './turn.ts'

/** A round either leads to the next or has ended the turn. */
export type Step = { readonly progress: Progress } | { readonly result: TurnResult }

/** One decision and what came of it. */
export async function round(turn: Turn, before: Progress): Promise<Step> {
  if (turn.signal.aborted) return { result: cancelled(turn) }
  const progress = await foldEvents(turn, before)
  if (progress.stopped || progress.wrapUp?.rounds === 0) return end(turn, progress, { exitReason: 'steer', ending: 'stopped' })
  const may = verdict(progress.budget, Date.parse(turn.clock.now()))
  if (may !== 'go') return wrapUp(turn, progress, may)

  await expire(turn)
  await fitContext(turn)
  const place = nextPlace(turn, progress.iteration)
  const model = progress.wrapUp ? { ...turn.settings.wrapUp, maxTokens: progress.wrapUp.maxTokens } : turn.settings.decision
  const asked = await ask(turn, progress, place, model)
  const after = nextRound(progress)
  if (asked.interrupted) return interrupted(turn, after, place, asked)
  if (asked.heard.error && asked.heard.raw === '') return end(turn, after, { ...providerDown, changes: [responseReceived(place, asked)] })
  return decided(turn, after, place, asked, model.maxTokens)
}

/** Reads the decision, and refuses it, acts on it, or concludes. */
async function decided(turn: Turn, progress: Progress, place: Place, asked: Asked, maxTokens: number): Promise<Step> {
  const { heard } = asked
  const response = responseOf(heard, maxTokens)
  const delivered = progress.attempts.at(-1)?.text
  const reading = readDecision(response, { shown: heard.spoken, ...(delivered !== undefined && { delivered }) })
  if (!reading.ok) {
    const saved = salvage({
      delivered: heard.answer?.text,
      violation: reading.violation,
      cut: response.finishReason === 'length',
      newEvents: turn.inbox.waiting.length > 0,
    })
    const said = [...reading.warnings, reading.violation]
    return saved ? conclude(turn, progress, place, asked, saved, said) : refuse(turn, progress, place, asked, said)
  }
  const { decision, warnings } = reading
  const admission = progress.wrapUp && admit(progress.wrapUp, decision)
  if (admission?.verdict === 'stop') {
    return end(turn, progress, {
      exitReason: 'steer',
      ending: 'stopped',
      changes: [responseReceived(place, asked)],
      drafts: thoughts(place, heard),
    })
  }
  if (decision.action !== 'call_tool') return conclude(turn, progress, place, asked, decision, warnings)
  const supervised = admission?.verdict === 'call' ? { ...progress, wrapUp: admission.wrapUp } : progress
  return callTool(turn, supervised, place, asked, decision, warnings)
}

async function callTool(
  turn: Turn,
  progress: Progress,
  place: Place,
  asked: Asked,
  decision: CallDecision,
  warnings: readonly Notice[],
): Promise<Step> {
  const checked = checkCall(decision, turn.toolbox.signatures, asked.heard.spoken)
  if (!checked.ok) return refuse(turn, progress, place, asked, [...warnings, checked.violation])
  const tool = turn.toolbox.find(decision.toolId) as Tool // the signature was found, and only tools have one that passes
  const action = { decision, tool, params: checked.params, warnings: [...warnings, ...checked.warnings] }
  return { progress: await act(turn, progress, place, asked, action) }
}

/** The response stands in the journal, the notice tells the model what was wrong with it, and nothing ran. */
async function refuse(turn: Turn, progress: Progress, place: Place, asked: Asked, said: readonly Notice[]): Promise<Step> {
  const drafts: readonly Draft[] = [...thoughts(place, asked.heard), ...said.map((each) => notice(place, each))]
  const changes = [responseReceived(place, asked)]
  const { repairs, next } = rejected(progress.repairs, remainingRounds(progress.budget))
  const after = { ...progress, repairs }
  if (next === 'exit') {
    const violationCode = said.at(-1)?.code
    const ended = { exitReason: 'protocol_violation' as const, ending: 'protocol_violation' as const, changes, drafts }
    return end(turn, after, violationCode === undefined ? ended : { ...ended, violationCode })
  }
  await turn.ledger.commit((timeline) => [...changes, { type: 'blocks.appended', blocks: enter(timeline, drafts) }])
  return { progress: after } // when no round is left, the next one wraps up
}

/** A steer came while the model was writing: what it had written is kept, and the next round takes the steer in. */
async function interrupted(turn: Turn, progress: Progress, place: Place, asked: Asked): Promise<Step> {
  if (turn.signal.aborted) return { result: cancelled(turn) }
  await turn.ledger.commit([responseReceived(place, asked, 'interrupted')])
  return { progress }
}

/** The budget is used up: one call that may only answer, then fixed words. */
async function wrapUp(turn: Turn, progress: Progress, why: Exclude<Verdict, 'go'>): Promise<Step> {
  const { exitReason, ending } = exhausted[why]
  const { turnId: turn_id } = turn
  turn.emit({ type: 'status', turn_id, iteration: progress.iteration, status: 'wrapping_up' })
  await fitContext(turn)
  const place = nextPlace(turn, progress.iteration)
  const asked = await ask(turn, progress, place, { ...turn.settings.wrapUp, maxTokens: budgetWrapUp.maxTokens }, true)
  const response = responseOf(asked.heard, budgetWrapUp.maxTokens)
  const reading = readDecision(response, { shown: asked.heard.spoken })
  const admission = admit(budgetWrapUp, reading.ok ? reading.decision : undefined)
  if (admission.verdict === 'answer') return conclude(turn, progress, place, asked, admission.decision, reading.warnings, exitReason)
  return end(turn, progress, { exitReason, ending, changes: [responseReceived(place, asked)], drafts: thoughts(place, asked.heard) })
}

const exhausted: { readonly [V in Exclude<Verdict, 'go'>]: { readonly exitReason: ExitReason; readonly ending: Ending } } = {
  'wrap_up:rounds': { exitReason: 'max_iterations', ending: 'max_rounds' },
  'wrap_up:time': { exitReason: 'time', ending: 'time' },
  'wrap_up:money': { exitReason: 'budget', ending: 'money' },
}

const providerDown = { exitReason: 'error', ending: 'provider_down' } as const

async function end(turn: Turn, progress: Progress, ended: Ended): Promise<Step> {
  return { result: await finish(turn, progress, ended) }
}

/** The call id is made before the model is asked, so that a refused round has one to hang its notice on. */
function nextPlace(turn: Turn, iteration: number): Place {
  return { turnId: turn.turnId, callId: turn.clock.randomHex(12), iteration, ts: turn.clock.now() }
}
