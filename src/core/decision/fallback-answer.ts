import { readDigest } from '../block/round.ts'
import { parsePath } from '../path/logical.ts'
import { isFinished, openPlans, stepStatus } from '../plan/plans.ts'
import { blocksOfTurn, type Timeline } from '../timeline/timeline.ts'
import type { FinalDecision } from './decision.ts'
import { snippet } from './violations.ts'

/** Why a turn ends without a final answer of the model. */
export type FallbackReason =
  | 'max_rounds'
  | 'time'
  | 'money'
  | 'unpriced'
  | 'protocol_violation'
  | 'stopped'
  | 'provider_busy'
  | 'provider_down'
  | 'provider_filtered'
  | 'provider_garbled'
  | 'provider_key'
  | 'provider_limit'
  | 'provider_refused'
  | 'provider_silent'
  | 'too_long'
  | 'error'

/**
 * The answer of a turn that the model did not end itself. If the model wrote an answer in this turn that did not end the turn, the user has
 * seen it, and it is the result. If there was no such answer, or if the user stopped the turn, the result is a fixed text.
 */
export function fallbackAnswer(reason: FallbackReason, timeline: Timeline, turnId: string, violationCode?: string): string {
  const attempt = reason === 'stopped' ? undefined : latestAttempt(timeline, turnId)
  return attempt ?? fixedAnswer(reason, timeline, turnId, violationCode)
}

/**
 * The decision of a response that broke a rule after its answer was shown. The user has read this answer, so it is kept and the model is
 * not asked again. Undefined when no answer was shown, or when the connection broke before the response was complete.
 */
export function salvageAnswer(round: {
  /** The answer that was shown to the user in this round, as the model wrote it. */
  readonly delivered: string | undefined
  readonly violation: { readonly code: string }
  /** True when the output limit cut the response off. */
  readonly cut: boolean
}): FinalDecision | undefined {
  const { delivered, violation, cut } = round
  if (delivered === undefined || delivered.trim() === '' || violation.code === 'service_interrupted') return undefined
  return { action: 'complete', answer: delivered.trimEnd(), followups: [], truncated: cut }
}

function latestAttempt(timeline: Timeline, turnId: string): string | undefined {
  const attempt = blocksOfTurn(timeline, turnId).findLast(({ type }) => type === 'assistant.completion.attempt')
  return attempt?.text?.trim() ? attempt.text : undefined
}

/** A fixed text: a sentence for the reason, the open steps of the plan, and the files that this turn made. */
function fixedAnswer(reason: FallbackReason, timeline: Timeline, turnId: string, violationCode?: string): string {
  const cutOff = reason === 'protocol_violation' && violationCode === 'protocol_violation.action_truncated'
  const sentence = cutOff ? replyTooLong : sentences[reason]
  const steps = formatList('Still open:', openSteps(timeline), maxSteps)
  const files = formatList('Files made so far:', filesOfTurn(timeline, turnId), maxFiles)
  const canContinue = reason === 'max_rounds' || reason === 'time' || reason === 'money' || reason === 'protocol_violation'
  return [sentence, ...steps, ...files, ...(canContinue ? [offerToContinue] : [])].join('\n\n')
}

/**
 * The unfinished steps of the current plan. If no plan is current, the result has the unfinished steps of the open plan that changed last.
 */
function openSteps(timeline: Timeline): readonly string[] {
  const plans = openPlans(timeline)
  const current = plans.filter((plan) => plan.current === true).slice(-1)
  return (current.length > 0 ? current : plans.slice(-1)).flatMap((plan) =>
    plan.steps.filter((_, index) => !isFinished(stepStatus(plan, index + 1))),
  )
}

/** The files that this turn made for the user. Internal files are left out, and so are files whose last write failed. */
function filesOfTurn(timeline: Timeline, turnId: string): readonly string[] {
  const newest = new Map<string, boolean>()
  for (const block of blocksOfTurn(timeline, turnId)) {
    const digest = block.type === 'react.tool.result' ? readDigest(block) : undefined
    if (digest === undefined) continue
    const path = parsePath(digest.artifact_path)
    if (path?.space !== 'fi' || path.kind !== 'file' || path.area === 'attachments') continue
    const failed = digest.status === 'error' || (digest.error !== undefined && digest.error !== null)
    newest.set(path.rel, digest.visibility !== 'internal' && !failed)
  }
  return [...newest].filter(([, made]) => made).map(([name]) => name)
}

function formatList(title: string, items: readonly string[], limit: number): readonly string[] {
  if (items.length === 0) return []
  const lines = items.slice(0, limit).map((item) => `- ${snippet(item, 160)}`)
  const more = items.length > limit ? [`- and ${items.length - limit} more`] : []
  return [[title, ...lines, ...more].join('\n')]
}

const sentences: { readonly [E in FallbackReason]: string } = {
  max_rounds: 'I reached the step limit of this turn before I could finish.',
  time: 'I reached the time limit of this turn before I could finish.',
  money: 'I reached the spending limit before I could finish.',
  unpriced: 'This turn has a spending limit, but the price of the model is not known, so I had to stop.',
  protocol_violation: 'I could not put together a usable reply this time, so I stopped.',
  stopped: 'I stopped as you asked. What was done so far is kept.',
  provider_busy:
    'The model service is overloaded at the moment, so I had to stop. Your message is kept; please try again in a few minutes.',
  provider_down: 'The model service could not be reached, so I had to stop. Your message is kept; please try again in a moment.',
  provider_filtered:
    'The safety filter of the model service stopped the reply, so I had to stop. Your message is kept; asking in other words may help.',
  provider_garbled:
    'The model service sent something that could not be read, so I had to stop. Your message is kept; please try again in a moment.',
  provider_key:
    'The model service did not accept our key, so I had to stop. Your message is kept; it can be answered once the key is corrected.',
  provider_limit:
    'The model service takes no more requests from us for now, so I had to stop. Your message is kept; please try again in a few minutes.',
  provider_refused:
    'The model service refused the request, so I had to stop. Your message is kept; trying again will hardly help before the settings are corrected.',
  provider_silent:
    'The model service fell silent in the middle of its work, so I had to stop. Your message is kept; please try again in a moment.',
  too_long:
    'This conversation no longer fits into what the model can read at once, so I had to stop. Your message is kept; a shorter one or a new conversation will help.',
  error: 'Something went wrong on our side and I had to stop. Your message is kept; please try again.',
}

/** The text when the output limit cut the response off. It tells the user the cause, because a smaller task avoids it. */
const replyTooLong = 'My reply grew too long and was cut off, so I stopped. Asking for a smaller part at a time may help.'

const offerToContinue = 'Say “continue” and I will go on from here.'
const maxSteps = 8
const maxFiles = 10
