import type { AnnouncedFeedback, AnnouncedWorkspace, LiveEvent } from '../../core/announce/sections.ts'
import { type Budget, createBudget, spend } from '../../core/budget.ts'
import type { WrapUp } from '../../core/decision/limits.ts'
import { noRepairs, type RepairCount } from '../../core/decision/limits.ts'
import type { AgentSettings } from '../settings.ts'

/** The state of a turn between two rounds. It is immutable: a round takes one state and returns the next. */
export interface Progress {
  /** The number of the next round, from 0. */
  readonly iteration: number
  readonly budget: Budget
  readonly repairs: RepairCount
  /** Deferred answers: the user has seen them, but an event came in before the turn was closed. */
  readonly attempts: readonly AnswerAttempt[]
  /** Set after the user has asked the turn to wrap up. */
  readonly wrapUp?: WrapUp
  /** Events that came in during the turn, oldest first. */
  readonly events: readonly LiveEvent[]
  /** Feedback on earlier turns, collected when the turn began and announced in every round. */
  readonly feedbacks: readonly AnnouncedFeedback[]
  /** True after the user has stopped the turn: the model is not called again. */
  readonly stopped: boolean
  /** Set after a compaction that freed nothing. Below this number of tokens, no compaction is tried. */
  readonly compactAbove?: number
  /** True after the turn has used react.hide. Then the prompt has no cache point at the end of the previous turn. */
  readonly hasHidden: boolean
  /** The state of the workspace at the start of the round, once the turn has opened it. */
  readonly workspace?: AnnouncedWorkspace
}

export interface AnswerAttempt {
  readonly text: string
  readonly iteration: number
  readonly truncated: boolean
}

/** The progress of a new turn. A resumed turn begins with it, too. Then `restoreProgress` applies the entries of that turn. */
export function openProgress(startedAt: string, settings: AgentSettings, feedbacks: readonly AnnouncedFeedback[]): Progress {
  const limits = {
    maxRounds: settings.maxRounds,
    ...(settings.creditCap !== undefined && { creditCap: settings.creditCap }),
    ...(settings.maxSeconds !== undefined && { maxMilliseconds: settings.maxSeconds * 1000 }),
    ...(settings.maxMoney !== undefined && { maxMoney: settings.maxMoney }),
  }
  const budget = createBudget(limits, Date.parse(startedAt))
  return { iteration: 0, budget, repairs: noRepairs, attempts: [], events: [], feedbacks, stopped: false, hasHidden: false }
}

/** The progress after a decision: one iteration more, and one round of the budget spent. */
export function nextRound(progress: Progress): Progress {
  return { ...progress, iteration: progress.iteration + 1, budget: spend(progress.budget, { rounds: 1 }) }
}
