import { applyChange } from '../src/core/timeline/apply.ts'
import { emptyTimeline, type Timeline } from '../src/core/timeline/timeline.ts'
import { call, result, withIds } from '../src/testing/blocks.ts'
import { median, report } from './measure.ts'

/** The timeline with one more round. */
function grown(timeline: Timeline): Timeline {
  const turnId = `t${Math.floor(timeline.nextBlock / 20)}`
  const callId = `c${timeline.nextBlock}`
  const drafts = [call(callId, 'web_tools.web_search', turnId), result(callId, 'found it', turnId)]
  return applyChange(timeline, { type: 'blocks.appended', blocks: withIds(drafts, timeline.nextBlock) })
}

function withBlocks(count: number): Timeline {
  let timeline = emptyTimeline()
  while (timeline.size < count) timeline = grown(timeline)
  return timeline
}

const ROUNDS = 20

/**
 * Appends 20 rounds and measures the microseconds. Use the returned timeline afterwards: another append to the given timeline would have to
 * copy its blocks.
 */
function sample(timeline: Timeline): { readonly took: number; readonly timeline: Timeline } {
  let last = timeline
  const start = performance.now()
  for (let n = 0; n < ROUNDS; n++) last = grown(last)
  return { took: (performance.now() - start) * 1_000, timeline: last }
}

export async function bench(): Promise<void> {
  const times = { small: [] as number[], large: [] as number[] }
  let large = withBlocks(100_000)
  for (let n = 0; n < 400; n++) {
    times.small.push(sample(withBlocks(100)).took)
    const grownLarge = sample(large)
    large = grownLarge.timeline
    times.large.push(grownLarge.took)
  }
  const floor = median(times.small.slice(50))
  report(`append to 100,000 blocks (to 100: ${(floor / ROUNDS).toFixed(2)} µs)`, median(times.large.slice(50)) / floor, 1.5, 'small')
}
