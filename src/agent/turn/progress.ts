import type { AnnouncedWorkspace, LiveEvent } from '../../core/announce/sections.ts'
import { type Budget, createBudget, spend } from '../../core/budget.ts'
import type { WrapUp } from '../../core/decision/limits.ts'
import { noRepairs, type RepairCount } from '../../core/decision/limits.ts'
import type { AgentSettings } from '../settings.ts'

/** How far a turn has come. A value: a round is given one and returns the next. */
export interface Progress {
  /** Number of the next decision, from 0. */
  readonly iteration: number
  readonly budget: Budget
  readonly repairs: RepairCount
  /** Answers that the user has seen but that were not the last word: something new came in. */
  readonly attempts: readonly AnswerAttempt[]
  /** Set while the turn comes to its end on request. */
  readonly wrapUp?: WrapUp
  /** What came in while the turn was running, oldest first. */
  readonly events: readonly LiveEvent[]
  /** The user said stop: no further call of the model. */
  readonly stopped: boolean
  /** Tokens below which another compaction would come to nothing again. */
  readonly compactAbove?: number
  /** The turn has hidden something: the previous turn's cache point gives way. */
  readonly hasHidden: boolean
  /** Where the turn works, as it was when the round began; only when it has opened its workspace. */
  readonly workspace?: AnnouncedWorkspace
}

export interface AnswerAttempt {
  readonly text: string
  readonly iteration: number
  readonly truncated: boolean
}

/** A turn that begins. One that is taken up again begins like this, too: then its own entries are gone through (resume.ts). */
export function openProgress(startedAt: string, settings: AgentSettings): Progress {
  const limits = {
    maxRounds: settings.maxRounds,
    ...(settings.creditCap !== undefined && { creditCap: settings.creditCap }),
    ...(settings.maxSeconds !== undefined && { maxMilliseconds: settings.maxSeconds * 1000 }),
    ...(settings.maxMoney !== undefined && { maxMoney: settings.maxMoney }),
  }
  const budget = createBudget(limits, Date.parse(startedAt))
  return { iteration: 0, budget, repairs: noRepairs, attempts: [], events: [], stopped: false, hasHidden: false }
}

/** One more decision was made, and paid for. */
export function nextRound(progress: Progress): Progress {
  return { ...progress, iteration: progress.iteration + 1, budget: spend(progress.budget, { rounds: 1 }) }
}
