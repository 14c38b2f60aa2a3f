import type { Estimator } from '../estimate/estimate.ts'
import { type Caps, caps } from '../render/caps.ts'
import { type Announce, composeAnnounce } from './announce.ts'

/** Smaller and smaller caps. Long plans, events and feedbacks are shortened first, because the timeline has them, too. */
const levels: readonly Caps[] = [
  caps,
  { ...caps, planSteps: 20, planStep: 120, feedbacks: 6, announceExtra: 2_000 },
  { ...caps, openPlans: 2, planSteps: 12, planStep: 60, feedbacks: 3, workspaceScopes: 6, announceExtra: 800 },
  {
    ...caps,
    openPlans: 1,
    planSteps: 6,
    planStep: 40,
    feedbacks: 1,
    liveEvents: 1,
    turnRoots: 1,
    workspaceScopes: 2,
    announceLine: 260,
    announceLines: 4,
    announceExtra: 200,
  },
]

/** Writes the announcement in at most `maxTokens`, or as short as it can be. It is whole if it fits, and usually not even counted. */
export function fitAnnounce(value: Announce, maxTokens: number, estimator: Estimator): string {
  let text = ''
  for (const level of levels) {
    text = composeAnnounce(value, level)
    if (!estimator.reaches(text, maxTokens + 1)) return text
  }
  return text
}
