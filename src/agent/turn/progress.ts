import type { AnnouncedFeedback, AnnounceSection, LiveEvent } from '../../core/announce/announce.ts'
import type { AnnouncedWorkspace } from '../../core/announce/workspace-section.ts'
import { type Budget, createBudget, noRepairs, type RepairCount, type WrapUp } from '../../core/budget.ts'
import type { AgentSettings } from '../settings.ts'
import type { AnswerAttempt } from './closing.ts'
import type { PendingTitle } from './title.ts'

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
