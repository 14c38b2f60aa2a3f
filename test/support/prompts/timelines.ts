import { type Block, type Draft, turnHeaderBlock, userPromptBlock } from '../../../src/core/block/index.ts'
import { cachePoints, defaultCachePolicy } from '../../../src/core/render/cache-points.ts'
import type { RenderOptions } from '../../../src/core/render/render.ts'
import type { Slice } from '../../../src/core/render/types.ts'
import { applyChange } from '../../../src/core/timeline/apply.ts'
import type { Change } from '../../../src/core/timeline/change.ts'
import { assignIds, emptyTimeline, type Timeline } from '../../../src/core/timeline/timeline.ts'
import { minute } from '../../../src/testing/blocks.ts'

/** The timeline with these drafts appended. */
export function withDrafts(timeline: Timeline, drafts: readonly Draft[]): Timeline {
  return applyChange(timeline, { type: 'blocks.appended', blocks: assignIds(timeline, drafts) })
}

export const timelineOf = (drafts: readonly Draft[]): Timeline => withDrafts(emptyTimeline(), drafts)

/** A timeline of blocks that already have ids. */
export const timelineOfBlocks = (blocks: readonly Block[]): Timeline => applyChange(emptyTimeline(), { type: 'blocks.appended', blocks })

export const withChanges = (timeline: Timeline, ...changes: readonly Change[]): Timeline => changes.reduce(applyChange, timeline)

export const turnStart = (turnId: string, at: number, text: string): readonly Draft[] => [
  turnHeaderBlock(turnId, minute(at)),
  userPromptBlock(turnId, minute(at), text),
]

/** The indices of the cache points in a turn without hidden blocks. */
export const plainPoints = (slice: Slice): readonly number[] => cachePoints(slice, defaultCachePolicy).marks

export const plainOptions = (currentTurnId: string, tails: Pick<RenderOptions, 'sources' | 'announce'> = {}): RenderOptions => ({
  currentTurnId,
  points: plainPoints,
  ...tails,
})
