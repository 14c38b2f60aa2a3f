import type { Notice } from '../../core/block/index.ts'
import { hasReadableText } from '../../core/citations/sids.ts'
import type { Decision, FinalDecision } from '../../core/decision/decision.ts'
import { salvageAnswer } from '../../core/decision/fallback-answer.ts'
import { type DecisionOptions, readDecision } from '../../core/decision/read.ts'
import { outputLimit } from '../../core/estimate/estimate.ts'
import { hasSource } from '../../core/sources/pool.ts'
import { toDecisionResponse } from '../model-call/call-model.ts'
import type { ModelResponse } from '../model-call/read-response.ts'
import type { Progress } from './round.ts'
import type { Turn } from './turn.ts'

/** The decision in a response, or the reason why the response is rejected. */
interface ResponseReading {
  /** Undefined when the response is rejected. */
  readonly decision?: Decision
  /** An answer in a rejected response that the user has already seen. The turn may go on after it. */
  readonly kept?: FinalDecision
  /** Notices about rules that the response broke. If the response is rejected, the last notice gives the reason. */
  readonly notices: readonly Notice[]
}

/**
 * Reads the decision of a response. If the user has already seen an answer in the response, this answer is used even if the response breaks
 * a rule.
 */
export function readResponseDecision(
  { agent, conversation: { ledger } }: Turn,
  progress: Progress,
  response: ModelResponse,
  maxTokens: number,
): ResponseReading {
  if (response.violation) return { notices: [response.violation] }
  const parsed = toDecisionResponse(response, Math.min(maxTokens, outputLimit(agent.models.decision.window)))
  const isSource = (sid: number) => hasSource(ledger.timeline.sources, sid)
  const options: DecisionOptions = {
    clarify: agent.settings.clarify,
    tools: agent.toolbox.signatures,
    isSource,
    plainText: progress.repairs.plainText === true,
    delivered: shownBefore(progress),
  }
  const first = readDecision(parsed, options)
  if (first.ok) return { decision: first.decision, notices: first.warnings }
  const shown = response.liveOutput().answer()?.text ?? ''
  const answered = hasReadableText(shown, isSource) // false if the user has seen only citations of unknown sources
  // The response breaks a rule. If the user already saw a part of it, the notice to the model must say so. Reading it again with `shown`
  // makes that notice.
  const reading = response.liveOutput().showedContent() ? readDecision(parsed, { ...options, shown: true, answered }) : first
  if (reading.ok) return { decision: reading.decision, notices: reading.warnings }
  const { violation } = reading
  const notices = [...reading.warnings, violation]
  const isSecondAction = violation.code === 'protocol_violation.multiple_actions'
  const cut = parsed.finishReason === 'length' && !isSecondAction // if another action follows the answer, the answer itself is complete
  const salvaged = salvageAnswer({ delivered: answered ? shown : undefined, violation, cut })
  if (!salvaged) return { notices }
  return isSecondAction ? { kept: salvaged, notices } : { decision: salvaged, notices }
}

/**
 * The latest answer that the user has seen, if no event has arrived since. A completion without text refers to this answer. After an event
 * there is no such answer, because the model has to take the event into account.
 */
function shownBefore({ attempts, eventsAtAttempt, events }: Progress): string | undefined {
  return eventsAtAttempt === events.length ? attempts.at(-1)?.text : undefined
}
