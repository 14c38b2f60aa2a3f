import type { AnnouncedFeedback, AnnounceSection, LiveEvent } from '../../core/announce/announce.ts'
import type { AnnouncedWorkspace } from '../../core/announce/workspace-section.ts'
import type { BlockOrigin } from '../../core/block/index.ts'
import {
  afterAcceptedRound,
  afterToolRefusal,
  type Budget,
  createBudget,
  noRepairs,
  type RepairCount,
  remainingRounds,
  spend,
  type WrapUp,
} from '../../core/budget.ts'
import type { Wait } from '../../core/timeline/change.ts'
import type { DeliveredOutcome } from '../../tools/artifacts/deliver.ts'
import { violationCode } from '../../tools/outcome.ts'
import type { AgentSettings } from '../settings.ts'
import type { AnswerAttempt } from './closing.ts'
import type { ForcedEnd, ModelAnswer, TurnEnd } from './finish.ts'
import type { PendingTitle } from './title.ts'
import type { Turn } from './turn.ts'

/** The values of a turn that change from round to round. They are immutable: a round gets one `Progress` and returns the next. */
export interface Progress {
  /** The number of the next round. It counts from 0. */
  readonly iteration: number
  readonly budget: Budget
  readonly repairs: RepairCount
  /** Answers that the user has seen but that did not end the turn, because an event arrived or the response contained another action. */
  readonly attempts: readonly AnswerAttempt[]
  /** The part of an answer that users had seen when the model was interrupted. It is kept if no other answer follows in this turn. */
  readonly unfinished?: AnswerAttempt
  /** How many events had arrived when the last of `attempts` was given. */
  readonly eventsAtAttempt?: number
  /** The limits of the wrap-up. Set after the user has asked the turn to wrap up. */
  readonly wrapUp?: WrapUp
  /** Events that arrived during the turn, oldest first. */
  readonly events: readonly LiveEvent[]
  /** Feedback on earlier turns. It was collected when the turn began, and the announce of every round shows it. */
  readonly feedbacks: readonly AnnouncedFeedback[]
  /** True after the user has stopped the turn. The model is not called again. */
  readonly stopped: boolean
  /**
   * Set when compaction could not make the prompt short enough. Compaction is tried again only when the timeline has more tokens than this.
   */
  readonly compactAbove?: number
  /**
   * True after `react.hide` has succeeded in this turn. `cachePoints` then leaves out the cache point at the end of the previous turn, if
   * the cache point a few rounds before the end of the prompt is later.
   */
  readonly hasHidden: boolean
  /** The state of the workspace at the start of the round. Until the turn opens its workspace, this state is read from the journal. */
  readonly workspace?: AnnouncedWorkspace | undefined
  /** The title of a new conversation, until its blocks are committed. */
  readonly title?: PendingTitle
  /** The sections that the application added to the announce of this round. */
  readonly sections?: readonly AnnounceSection[]
}

/** The progress at the start of a turn. For a resumed turn, `restoreProgress` then applies the turn's entries to it. */
export function openProgress(startedAt: string, settings: AgentSettings, feedbacks: readonly AnnouncedFeedback[]): Progress {
  const limits = {
    maxRounds: settings.maxRounds,
    ...(settings.creditCap !== undefined && { creditCap: settings.creditCap }),
    ...(settings.maxSeconds !== undefined && { maxMilliseconds: settings.maxSeconds * 1000 }),
    ...(settings.maxMoney !== undefined && { maxMoney: settings.maxMoney }),
    ...(settings.maxTurnTokens !== undefined && { maxTokens: settings.maxTurnTokens }),
  }
  const budget = createBudget(limits, Date.parse(startedAt))
  return { iteration: 0, budget, repairs: noRepairs, attempts: [], events: [], feedbacks, stopped: false, hasHidden: false }
}

/** The progress after a round. If the round was the last of the turn, also how the turn ends. */
export type RoundResult =
  | { readonly kind: 'next'; readonly progress: Progress }
  | { readonly kind: 'ended'; readonly progress: Progress; readonly end: TurnEnd }
  /** The turn stays open and waits. When something has arrived, a process resumes it. */
  | { readonly kind: 'waiting'; readonly progress: Progress; readonly waits: readonly Wait[] }

/** Ends the turn before its next model call. The turn has a cost limit, and the price of the model is not known. */
export const endUnpriced = (progress: Progress): RoundResult => ended(progress, { exitReason: 'unpriced', fallback: 'unpriced' })
export const ended = (progress: Progress, end: ForcedEnd): RoundResult => ({ kind: 'ended', progress, end: { kind: 'forced', end } })
export const answered = (progress: Progress, answer: ModelAnswer): RoundResult => ({
  kind: 'ended',
  progress,
  end: { kind: 'answer', answer },
})

/**
 * The ids and the time for the blocks of the round. The call id is made before the model is called, because a rejected response also needs
 * a call id.
 */
export function nextOrigin({ turnId, agent: { clock } }: Turn, iteration: number): BlockOrigin {
  return { turnId, callId: clock.randomHex(12), iteration, ts: clock.now() }
}

/** The progress after a response of the model: the next round has the next number, and one round of the budget is used. */
export function nextRound(progress: Progress): Progress {
  return { ...progress, iteration: progress.iteration + 1, budget: spend(progress.budget, { rounds: 1 }) }
}

/** The progress after a tool call. A call that broke a rule increases the count of repairs. */
export function progressAfterCall(progress: Progress, toolId: string, delivered: DeliveredOutcome): Progress {
  const { changes } = delivered
  const hasHidden = progress.hasHidden || changes?.some(({ type }) => type === 'blocks.hidden') === true
  const code = violationCode(delivered)
  if (code === undefined) {
    const repairs = afterAcceptedRound(progress.repairs)
    return repairs === progress.repairs && hasHidden === progress.hasHidden ? progress : { ...progress, hasHidden, repairs }
  }
  const { repairs } = afterToolRefusal(progress.repairs, { code, toolId }, remainingRounds(progress.budget))
  return { ...progress, hasHidden, repairs }
}
