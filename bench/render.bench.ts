import { performance } from 'node:perf_hooks'
import { composeAnnounce } from '../src/core/announce/announce.ts'
import {
  type BlockOrigin,
  completionBlock,
  type Draft,
  decisionNotesBlock,
  toolCallBlock,
  toolResultBlock,
  turnHeaderBlock,
  userPromptBlock,
} from '../src/core/block/index.ts'
import { createRenderer, type RenderOptions } from '../src/core/render/render.ts'
import { sourcesTail } from '../src/core/render/sources-tail.ts'
import type { Slice } from '../src/core/render/types.ts'
import type { SourcePool } from '../src/core/sources/pool.ts'
import type { SourceRow } from '../src/core/sources/source.ts'
import { applyChange } from '../src/core/timeline/apply.ts'
import { assignIds, emptyTimeline, type Timeline } from '../src/core/timeline/timeline.ts'

const ts = '2026-01-01T00:00:00.000Z'
const body = 'A result of ordinary length, in ordinary words, as tools give them. '.repeat(30)

function round(turnId: string, iteration: number): readonly Draft[] {
  const place: BlockOrigin = { turnId, iteration, callId: `${turnId}c${iteration}`, ts }
  return [
    decisionNotesBlock(place, 'I look for more.'),
    toolCallBlock(place, { toolId: 'web_tools.web_search', params: { query: `question ${iteration}`, n: 5 } }),
    toolResultBlock(place, { mime: 'text/markdown', text: `${iteration}: ${body}` }),
  ]
}

const grown = (timeline: Timeline, drafts: readonly Draft[]) =>
  applyChange(timeline, { type: 'blocks.appended', blocks: assignIds(timeline, drafts) })

/** A timeline with at least this many blocks. It has closed turns with six rounds each, and then an open turn. */
function conversation(blocks: number): Timeline {
  let timeline = emptyTimeline()
  for (let turn = 1; timeline.size < blocks; turn++) {
    const id = `t${turn}`
    const rounds = Array.from({ length: 6 }, (_, iteration) => round(id, iteration)).flat()
    timeline = grown(timeline, [
      turnHeaderBlock(id, ts),
      userPromptBlock(id, ts, 'and then?'),
      ...rounds,
      completionBlock(id, ts, { text: 'So.', iteration: 6 }),
    ])
  }
  return grown(timeline, [turnHeaderBlock('now', ts), userPromptBlock('now', ts, 'and now?')])
}

const points = ({ shown, turnStart, roundEnds }: Slice) => [
  (turnStart ?? 0) - 1,
  roundEnds.at(-5) ?? 0,
  roundEnds.at(-1) ?? shown.length - 1,
]
const bare: RenderOptions = { currentTurnId: 'now', points }

const row = (sid: number): SourceRow => ({
  sid,
  title: `page ${sid}`,
  url: `https://e.example/${sid}`,
  source_type: 'web',
  mime: 'text/html',
  text: body,
})
const pool: SourcePool = { rows: Array.from({ length: 20 }, (_, n) => row(n + 1)), next_sid: 21 }
const plan = { plan_id: 'p', steps: ['search', 'compare', 'write'], status: { '1': 'done' as const }, current: true, last_ts: ts }

/** Render options with the tail, which is built anew in every round. */
const withTails = (iteration: number): RenderOptions => ({
  ...bare,
  sources: sourcesTail(pool, 'now'),
  announce: composeAnnounce({
    budget: { iteration, max: 100, elapsedSeconds: iteration },
    plans: [plan],
    now: { utc: ts, timezone: 'UTC' },
  }),
})

/**
 * The microseconds of a render after one more round. The result is the median of 60 rounds, so that garbage collections have little effect.
 */
function nextRound(before: Timeline, options: (iteration: number) => RenderOptions): number {
  const renderer = createRenderer()
  const spent: number[] = []
  let timeline = before
  renderer.render(timeline, options(0))
  for (let iteration = 0; iteration < 60; iteration++) {
    timeline = grown(timeline, round('now', iteration))
    const start = performance.now()
    renderer.render(timeline, options(iteration))
    spent.push((performance.now() - start) * 1_000)
  }
  return spent.sort((a, b) => a - b)[30] as number
}

/**
 * The processor time of a first render, in microseconds per block. Several short timelines are rendered together, so that they need as much
 * memory as one long timeline.
 */
function firstRender(timelines: readonly Timeline[]): number {
  const blocks = timelines.reduce((sum, { size }) => sum + size, 0)
  const start = process.cpuUsage()
  const prompts = timelines.map((timeline) => createRenderer().render(timeline, bare))
  const { user, system } = process.cpuUsage(start)
  return prompts.length > 0 ? (user + system) / blocks : 0
}

/** The shortest time of each function. The two functions alternate, so that other load affects both. */
function compare(times: number, one: () => number, other: () => number): readonly [one: number, other: number] {
  const pairs = Array.from({ length: times + 2 }, () => [one(), other()] as const).slice(2) // the first two pairs are the warm-up
  return [Math.min(...pairs.map(([first]) => first)), Math.min(...pairs.map(([, second]) => second))]
}

const verdict = (ratio: number, budget: number) => `${ratio.toFixed(2)} ×  (budget ${budget})  ${ratio <= budget ? 'ok' : 'OVER'}`

export async function bench(): Promise<void> {
  for (const [name, options, budget] of [
    ['with its tails', withTails, 1.5],
    ['stable parts only', () => bare, undefined],
  ] as const) {
    const [few, lots] = compare(
      20,
      () => nextRound(conversation(100), options),
      () => nextRound(conversation(10_000), options),
    )
    const ratio = budget === undefined ? `${(lots / few).toFixed(2)} ×` : verdict(lots / few, budget)
    console.log(`next round, ${name.padEnd(18)}   ${few.toFixed(1)} µs after 100 blocks   ${lots.toFixed(1)} µs after 10,000   ${ratio}`)
  }
  const [short, long] = compare(
    8,
    () => firstRender(Array.from({ length: 10 }, () => conversation(1_000))),
    () => firstRender([conversation(10_000)]),
  )
  console.log(
    `first render, per block         ${short.toFixed(2)} µs of 1,000   ${long.toFixed(2)} µs of 10,000   ${verdict(long / short, 1.2)}`,
  )
}
