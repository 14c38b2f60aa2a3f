import { composeAnnounce } from '../core/announce/announce.ts'
import { bonusOf, maxRoundsOf } from '../core/budget.ts'
import { openPlans } from '../core/plan/open.ts'
import { type CachePoints, cachePoints } from '../core/render/cache-points.ts'
import type { Part } from '../core/render/part.ts'
import type { Slice } from '../core/render/slice.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { Progress } from './progress.ts'
import type { Turn } from './turn.ts'

/** What the model is about to read. */
export interface DecisionPrompt {
  readonly parts: readonly Part[]
  readonly marks: readonly number[]
  readonly ttlSeconds: number | null
}

/** The timeline with its cache points, then what is true only now. */
export function decisionPrompt(turn: Turn, progress: Progress, wrapUp?: true): DecisionPrompt {
  const { timeline } = turn.ledger
  const { parts, marks } = turn.view.renderer.render(timeline, {
    currentTurnId: turn.turnId,
    points: (slice) => pointsOf(turn, progress, slice).marks,
    sources: turn.view.sourcesTail(timeline.sources, turn.turnId),
    announce: announceText(turn, progress, timeline, wrapUp),
  })
  return { parts, marks, ttlSeconds: turn.settings.expiry.ttlSeconds }
}

export function pointsOf(turn: Turn, { hid }: Pick<Progress, 'hid'>, slice: Slice): CachePoints {
  return cachePoints(slice, turn.settings.cache, { hidHappened: hid })
}

function announceText(turn: Turn, progress: Progress, timeline: Timeline, wrapUp: true | undefined): string {
  const now = turn.clock.now()
  const { budget, iteration } = progress
  const bonus = bonusOf(budget)
  return composeAnnounce({
    budget: {
      iteration,
      max: maxRoundsOf(budget),
      ...(bonus > 0 && { bonus }),
      elapsedSeconds: (Date.parse(now) - budget.startedAt) / 1000,
      ...(wrapUp && { wrapUp }),
    },
    plans: openPlans(timeline),
    now: { utc: now, timezone: turn.settings.timezone },
    ...(turn.news.feedbacks.length > 0 && { feedbacks: turn.news.feedbacks }),
    ...(progress.events.length > 0 && { events: progress.events }),
    ...constraintsOf(progress, wrapUp),
  })
}

function constraintsOf(progress: Progress, wrapUp: true | undefined): { readonly constraints?: readonly string[] } {
  if (wrapUp) return { constraints: ['This is the last call of the turn: no tools. Answer now with what you have, and say what is left.'] }
  if (!progress.wrapUp) return {}
  const { rounds, tools } = progress.wrapUp
  return { constraints: [`The user asked you to wrap up: ${rounds} rounds left, only ${tools.join(', ')}; then answer.`] }
}
