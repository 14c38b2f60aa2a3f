import { composeAnnounce } from '../../../src/core/announce/announce.ts'
import { createRenderer, promptText } from '../../../src/core/render/render.ts'
import { sourcesTail } from '../../../src/core/render/sources-tail.ts'
import type { Situation } from '../../golden/scenes.ts'
import { plainOptions } from './timelines.ts'

/** The whole prompt of a situation, as a golden keeps it. */
export function goldenPrompt({ timeline, turnId, pool, announce }: Situation): string {
  const tails = {
    sources: pool && sourcesTail(pool, { currentTurnId: turnId }),
    announce: announce && composeAnnounce(announce),
  }
  return promptText(createRenderer().render(timeline, plainOptions(turnId, tails)))
}
