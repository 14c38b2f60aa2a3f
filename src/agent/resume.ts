import { type Block, readNotice } from '../core/block/index.ts'
import { remainingRounds } from '../core/budget.ts'
import { afterAcceptedRound, afterRejectedResponse, afterToolRefusal } from '../core/decision/limits.ts'
import { spendRound } from '../core/decision/wrap-up.ts'
import { isObject, parseJson } from '../core/json.ts'
import type { Change } from '../core/timeline/change.ts'
import type { TurnEntries } from './conversation/history.ts'
import type { AgentSettings } from './settings.ts'
import { applyEvent } from './turn/incoming-events.ts'
import { nextRound, type Progress } from './turn/progress.ts'

/**
 * How far a turn had come, read off its own entries: whoever takes it up must know what the process knew that died. Each entry
 * moves the turn on as the round did that made it:
 *
 *   response.received            one more round is spent
 *   … with a call                a wrap-up has one round less
 *   … with a result              the row of repairs ends, or the tool has refused
 *   … with a notice and no call  it was rejected, and a wrap-up has one round less
 *   … with an attempt            the user has read an answer that was not the last word
 *   event.folded                 what the user said from outside counts again
 */
export function restoreProgress(opened: Progress, turnId: string, { changes, events }: TurnEntries, settings: AgentSettings): Progress {
  let progress = opened
  let toolId = ''
  changes.forEach((change, index) => {
    if (change.type === 'response.received' && change.role === undefined) progress = nextRound(progress)
    else if (change.type === 'event.folded' && change.turn_id === turnId && !opensTurn(changes[index - 1])) {
      for (const id of change.event_ids) {
        const event = events.get(id)
        if (event) progress = applyEvent(progress, event, settings)
      }
    } else if (change.type === 'blocks.hidden' && change.reason === 'hide') progress = { ...progress, hasHidden: true }
    else if (change.type === 'blocks.appended') {
      toolId = change.blocks.find(({ type }) => type === 'react.tool.call')?.tool_id ?? toolId
      progress = afterBlocks(progress, change.blocks, toolId)
    }
  })
  return progress
}

/** A followup that became a turn of its own stands there as its prompt, not as an event of the turn. */
const opensTurn = (change: Change | undefined) => change?.type === 'turn.opened'

function afterBlocks(before: Progress, blocks: readonly Block[], toolId: string): Progress {
  const attempt = blocks.find(({ type }) => type === 'assistant.completion.attempt')
  if (attempt) {
    const { text = '', meta } = attempt
    const said = { text, iteration: meta?.iteration ?? before.iteration - 1, truncated: meta?.truncated === true }
    return { ...before, repairs: afterAcceptedRound(before.repairs), attempts: [...before.attempts, said] }
  }
  if (blocks.some(({ type }) => type === 'react.tool.call')) {
    return oneRoundLess(before)
  }
  const result = blocks.findLast(({ type }) => type === 'react.tool.result')
  const left = remainingRounds(before.budget)
  if (result) {
    const code = violationIn(result)
    return {
      ...before,
      repairs: code === undefined ? afterAcceptedRound(before.repairs) : afterToolRefusal(before.repairs, { code, toolId }, left).repairs,
    }
  }
  const refused = blocks.some((block) => readNotice(block) !== undefined && block.meta?.rel === 'call')
  return refused ? { ...oneRoundLess(before), repairs: afterRejectedResponse(before.repairs, left).repairs } : before
}

const oneRoundLess = (progress: Progress): Progress => (progress.wrapUp ? { ...progress, wrapUp: spendRound(progress.wrapUp) } : progress)

function violationIn({ text }: Block): string | undefined {
  const payload = parseJson(text)
  const error = isObject(payload) && payload.ok === false && isObject(payload.error) ? payload.error : undefined
  return typeof error?.code === 'string' && error.code.startsWith('protocol_violation.') ? error.code : undefined
}
