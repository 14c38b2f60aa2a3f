import { readDigest } from '../block/digest.ts'
import { parsePath } from '../path/logical.ts'
import { isFinished, openPlans, stepStatus } from '../plan/plans.ts'
import { blocksOfTurn, type Timeline } from '../timeline/timeline.ts'
import { snippet } from './violations.ts'

/** Why a turn ended without an answer of the model's own. */
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

const sentences: { readonly [E in FallbackReason]: string } = {
  max_rounds: 'I reached the step limit of this turn before I could finish.',
  time: 'I reached the time limit of this turn before I could finish.',
  money: 'I reached the spending limit of this turn before I could finish.',
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

/** The one broken rule that says something useful to the user. */
const replyTooLong = 'My reply grew too long and was cut off, so I stopped. Asking for a smaller part at a time may help.'

const offerToContinue = 'Say “continue” and I will go on from here.'
const maxSteps = 8
const maxFiles = 10

/**
 * What the user reads when the model has had no last word: a fixed sentence, the steps that are open and the files that
 * were made. Derived from blocks alone: no model, no internals, always the same for the same timeline.
 */
export function fixedAnswer(ending: FallbackReason, timeline: Timeline, turnId: string, violationCode?: string): string {
  const cutOff = ending === 'protocol_violation' && violationCode === 'protocol_violation.action_truncated'
  const sentence = cutOff ? replyTooLong : sentences[ending]
  const steps = formatList('Still open:', openSteps(timeline), maxSteps)
  const files = formatList('Files made so far:', filesOfTurn(timeline, turnId), maxFiles)
  const unfinished = ending === 'max_rounds' || ending === 'time' || ending === 'money' || ending === 'protocol_violation'
  return [sentence, ...steps, ...files, ...(unfinished ? [offerToContinue] : [])].join('\n\n')
}

/** The latest answer of the turn that was held back for something newer; it was shown, so it is better than fixed words. */
export function latestAttempt(timeline: Timeline, turnId: string): string | undefined {
  const attempt = blocksOfTurn(timeline, turnId).findLast(({ type }) => type === 'assistant.completion.attempt')
  return attempt?.text?.trim() ? attempt.text : undefined
}

/** How a turn ends that the model did not end: with what it last said, else with fixed words. A stop is a stop. */
export function fallbackAnswer(ending: FallbackReason, timeline: Timeline, turnId: string, violationCode?: string): string {
  const attempt = ending === 'stopped' ? undefined : latestAttempt(timeline, turnId)
  return attempt ?? fixedAnswer(ending, timeline, turnId, violationCode)
}

function openSteps(timeline: Timeline): readonly string[] {
  const plans = openPlans(timeline)
  const shown = plans.filter(({ current }) => current === true).slice(-1)
  return (shown.length > 0 ? shown : plans.slice(-1)).flatMap((plan) =>
    plan.steps.filter((_, index) => !isFinished(stepStatus(plan, index + 1))),
  )
}

/** Files that this turn made for the user, by the name they know. */
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

function formatList(title: string, items: readonly string[], most: number): readonly string[] {
  if (items.length === 0) return []
  const lines = items.slice(0, most).map((item) => `- ${snippet(item, 160)}`)
  const more = items.length > most ? [`- and ${items.length - most} more`] : []
  return [[title, ...lines, ...more].join('\n')]
}
