import { planCompaction } from '../src/core/compaction/compaction.ts'
import { finishCompaction } from '../src/core/compaction/finish.ts'
import { createEstimator, createMeter } from '../src/core/estimate/estimate.ts'
import { roughTokens } from '../src/core/estimate/tokens.ts'
import { defaultExpirySettings, planExpiry } from '../src/core/expiry/expiry.ts'
import { createRenderer } from '../src/core/render/render.ts'
import { applyChange } from '../src/core/timeline/apply.ts'
import { assignIds, emptyTimeline, type Timeline } from '../src/core/timeline/timeline.ts'
import { completion, minute, rounds } from '../src/testing/blocks.ts'

/**
 * Measures expiry and compaction. The time must be proportional to the number of replaced blocks. If no block is replaced, the time must
 * not depend on the length of the timeline.
 */
export async function bench(): Promise<void> {
  report('meter, next round', ratio(meterRound(10_000), meterRound(100)), 1.5)
  report('expiry, cache warm', ratio(warmExpiry(10_000), warmExpiry(100)), 1.5)
  report('expiry, per block', ratio(expiry(10_000), expiry(1000)) / 10, 1.5)
  report('compaction, per block', ratio(compaction(10_000), compaction(1000)) / 10, 2)
}

function report(name: string, times: number, budget: number) {
  console.log(`${name.padEnd(24)} ${times.toFixed(2)} × floor  (budget ${budget})  ${times <= budget ? 'ok' : 'OVER'}`)
}

/** The shortest time of `many` divided by the shortest time of `few`. The two functions alternate, so that other load affects both. */
function ratio(many: () => number, few: () => number): number {
  const best = { many: Number.POSITIVE_INFINITY, few: Number.POSITIVE_INFINITY }
  for (let i = 0; i < 15; i++) {
    best.few = Math.min(best.few, few())
    best.many = Math.min(best.many, many())
  }
  return best.many / best.few
}

function timed(run: () => void): number {
  const start = process.hrtime.bigint()
  run()
  return Number(process.hrtime.bigint() - start)
}

/** A timeline of about this many blocks. Each turn has three rounds and nine blocks. */
function conversation(blocks: number): Timeline {
  const drafts = Array.from({ length: Math.ceil(blocks / 9) }, (_, i) => [...rounds(3, `t${i}`), completion(`answer ${i}`, `t${i}`)]).flat()
  return applyChange(emptyTimeline(), { type: 'blocks.appended', blocks: assignIds(emptyTimeline(), drafts) })
}

const REPEATS = 2000

function meterRound(blocks: number): () => number {
  const renderer = createRenderer()
  const steps = [conversation(blocks)]
  for (let i = 0; i < REPEATS; i++) {
    const last = steps.at(-1) as Timeline
    steps.push(applyChange(last, { type: 'blocks.appended', blocks: assignIds(last, rounds(1, 'now').slice(2)) }))
  }
  const slices = steps.filter((_, i) => i % 200 === 0).map((timeline) => ({ timeline, slice: renderer.slice(timeline) }))
  const estimator = createEstimator(roughTokens)
  for (const { slice } of slices) for (const { parts } of slice.shown) estimator.parts(parts)
  return () => {
    const meter = createMeter(estimator)
    const [first, ...rest] = slices
    if (first) meter.exceeds(first.timeline, first.slice, 10)
    return timed(() => {
      for (const { timeline, slice } of rest) meter.exceeds(timeline, slice, 10)
    })
  }
}

function warmExpiry(blocks: number): () => number {
  const timeline = { ...conversation(blocks), cache: { touched_at: minute(0), ttl_seconds: 300 } }
  const options = { now: minute(1), currentTurnId: 't0', settings: defaultExpirySettings, tokens: createEstimator(roughTokens) }
  return () =>
    timed(() => {
      for (let i = 0; i < REPEATS; i++) planExpiry(timeline, options)
    })
}

function expiry(blocks: number): () => number {
  const timeline = { ...conversation(blocks), cache: { touched_at: minute(0), ttl_seconds: 300 } }
  return () => {
    const tokens = createEstimator(roughTokens)
    return timed(() => planExpiry(timeline, { now: minute(60), currentTurnId: 'now', settings: defaultExpirySettings, tokens }))
  }
}

function compaction(blocks: number): () => number {
  const timeline = conversation(blocks)
  return () => {
    const tokens = createEstimator(roughTokens)
    const { slice } = createRenderer()
    const common = { tokens, slice: (value: Timeline) => slice(value) }
    const options = {
      currentTurnId: `t${Math.ceil(blocks / 9) - 1}`,
      limit: 2000,
      summaryLimit: 2000,
      systemTokens: 0,
      renderedTokens: 1e9,
      tailTokens: 0,
      calibration: 1,
    }
    return timed(() => {
      const plan = planCompaction(timeline, { ...options, ...common, keepRecentTurns: 6 })
      if (plan) finishCompaction(timeline, plan, { history: 'short' }, { ...common, now: minute(0) })
    })
  }
}
