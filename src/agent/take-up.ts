import { type Block, type Place, readToolCall } from '../core/block/index.ts'
import { checkCall } from '../core/decision/check-call.ts'
import { readDecision } from '../core/decision/read.ts'
import { responseFrom } from '../core/decision/response.ts'
import type { ResponseReceived } from '../core/timeline/change.ts'
import { blocksOfTurn, type Timeline } from '../core/timeline/timeline.ts'
import { runTool, settle, unknownOutcome } from './act.ts'
import { giveTitle } from './gate.ts'
import { openProgress, type Progress } from './progress.ts'
import type { Turn } from './turn.ts'

/**
 * Goes on where a turn was left when its process died. The journal says how far it came:
 *
 *   no response yet              begin the first round
 *   a call and its result        the next round
 *   a call without its result    the tool was running: run it again if that is harmless, else say that its outcome is unknown
 *
 * The model is never asked again for a response that was entered.
 */
export async function takeUp(turn: Turn): Promise<Progress> {
  const { timeline } = turn.ledger
  const started = timeline.openTurn?.ts ?? turn.clock.now()
  const progress = openProgress(timeline, turn.turnId, started, turn.settings)
  const pending = callWithoutResult(timeline, turn.turnId)
  if (pending) return finishCall(turn, progress, pending)
  const untouched = progress.iteration === 0 && timeline.title === undefined && blocksOfTurn(timeline, turn.turnId).length === timeline.size
  if (untouched) await giveTitle(turn)
  return progress
}

function callWithoutResult(timeline: Timeline, turnId: string): Block | undefined {
  const blocks = blocksOfTurn(timeline, turnId)
  const call = blocks.findLast(({ type }) => type === 'react.tool.call')
  const answered = blocks.some(({ type, call_id }) => type === 'react.tool.result' && call_id === call?.call_id)
  return answered ? undefined : call
}

async function finishCall(turn: Turn, progress: Progress, block: Block): Promise<Progress> {
  const called = readToolCall(block)
  const toolId = called?.tool_id ?? block.tool_id ?? 'unknown'
  const place: Place = { turnId: turn.turnId, callId: block.call_id ?? '', iteration: progress.iteration - 1, ts: turn.clock.now() }
  const tool = turn.toolbox.find(toolId)
  const response = tool?.repeatable ? await turn.responseTo(place.callId) : undefined
  const params = response && paramsOf(turn, response)
  if (!tool || !params) return settle(turn, progress, place, toolId, unknownOutcome(toolId))
  const outcome = await runTool(turn, progress, place, { tool, ...params }, turn.ledger.timeline)
  return outcome ? settle(turn, progress, place, toolId, outcome) : progress
}

/** The call block shows a shortened form; what the model wrote is in its response. */
function paramsOf(turn: Turn, { raw, finish_reason }: ResponseReceived) {
  const finishReason = finish_reason === 'length' ? 'length' : 'stop'
  const reading = readDecision(responseFrom(raw, { finishReason, maxTokens: turn.settings.decision.maxTokens }), {})
  if (!reading.ok || reading.decision.action !== 'call_tool') return undefined
  const checked = checkCall(reading.decision, turn.toolbox.signatures)
  return checked.ok ? { params: checked.params, decision: reading.decision } : undefined
}
