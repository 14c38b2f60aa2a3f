import { type BlockOrigin, type Draft, toolCallBlock, toolResultBlock } from '../../../src/core/block/index.ts'
import { roughTokens } from '../../../src/core/estimate/tokens.ts'
import { defaultEditableTailTokens, planHide } from '../../../src/core/hide/hide.ts'
import { toolPath } from '../../../src/core/path/build.ts'
import { cachePoints, defaultCachePolicy } from '../../../src/core/render/cache-points.ts'
import { createRenderer } from '../../../src/core/render/render.ts'
import type { Part, Slice } from '../../../src/core/render/types.ts'
import { applyChange } from '../../../src/core/timeline/apply.ts'
import { assignIds, emptyTimeline } from '../../../src/core/timeline/timeline.ts'
import { completion, minute } from '../../../src/testing/blocks.ts'
import { type Bill, idealBill, type LayeredCall, type ModelCall, sumBills, uncachedBill } from '../../../src/testing/cache-bills.ts'
import { createCacheSimulator } from '../../../src/testing/cache-simulator.ts'
import { turnStart } from './timelines.ts'

/** A conversation with a tool call in every round, and a new tail in every prompt. */
export interface CostScript {
  readonly turns: number
  readonly roundsPerTurn: number
  readonly resultCharacters: number
  readonly announceTokens: number
  /** How many calls the model makes in one response. */
  readonly callsPerRound: number
  /** How many result blocks each call has. */
  readonly resultsPerCall: number
  /** The number of rounds after which the model hides the result of the previous round. 0 means never. */
  readonly foldEvery: number
}

/** A prompt, and the same prompt with each block in parts of its own (`apart`). */
export interface ScriptedCall extends LayeredCall {
  readonly apart: readonly Part[]
}

const system = `You answer in channels. ${words('protocol', 12_000)}`

/** Every prompt of the conversation in order: one before each round with a tool call, and one before each answer. */
export function scriptedCalls(script: CostScript): readonly ScriptedCall[] {
  const renderer = createRenderer()
  const calls: ScriptedCall[] = []
  let timeline = emptyTimeline()
  let seconds = 0
  const append = (drafts: readonly Draft[]) => {
    timeline = applyChange(timeline, { type: 'blocks.appended', blocks: assignIds(timeline, drafts) })
  }
  const turnsWithHides = new Set<string>()
  const pointsOf = (slice: Slice, turnId: string) => cachePoints(slice, defaultCachePolicy, { hasHidden: turnsWithHides.has(turnId) })
  const ask = (currentTurnId: string) => {
    const announce = script.announceTokens === 0 ? undefined : words(`status at ${seconds}`, script.announceTokens * 4)
    const { parts, stableParts } = renderer.render(timeline, {
      currentTurnId,
      points: (slice) => pointsOf(slice, currentTurnId).marks,
      announce,
    })
    const shown = renderer.slice(timeline, currentTurnId).shown.flatMap((block) => block.parts)
    calls.push({ system, parts, stableParts, at: seconds, apart: [...shown, ...parts.slice(stableParts)] })
    seconds += 20
  }
  const fold = (turnId: string, iteration: number) => {
    const slice = renderer.slice(timeline, turnId)
    const request = { path: toolPath(turnId, callIdOf(turnId, iteration - 1, 0), 'result'), replacement_text: 'read, nothing of use' }
    const plan = planHide(slice, pointsOf(slice, turnId), request, { tokens: roughTokens, tailTokens: defaultEditableTailTokens })
    const place = placeOf(turnId, iteration, 0)
    append([
      toolCallBlock(place, { toolId: 'react.hide', params: request }),
      toolResultBlock(place, { mime: 'application/json', text: JSON.stringify(plan.report) }),
    ])
    if (!plan.ok) return
    timeline = applyChange(timeline, plan.change)
    turnsWithHides.add(turnId)
  }

  for (let turn = 0; turn < script.turns; turn++) {
    const turnId = `turn_${turn}`
    append(turnStart(turnId, turn, words(`request ${turn}`, 400)))
    for (let iteration = 0; iteration < script.roundsPerTurn; iteration++) {
      ask(turnId)
      if (script.foldEvery > 0 && iteration % script.foldEvery === script.foldEvery - 1) fold(turnId, iteration)
      else append(roundOf(script, turnId, iteration))
    }
    ask(turnId)
    append([completion(words(`answer ${turn}`, 1_200), turnId, turn)])
    seconds += 60
  }
  return calls
}

const callIdOf = (turnId: string, iteration: number, index: number) => `${turnId}r${iteration}c${index}`
const placeOf = (turnId: string, iteration: number, index: number): BlockOrigin => {
  return { turnId, callId: callIdOf(turnId, iteration, index), iteration, ts: minute(iteration) }
}

function roundOf(script: CostScript, turnId: string, iteration: number): readonly Draft[] {
  const places = Array.from({ length: script.callsPerRound }, (_, index) => placeOf(turnId, iteration, index))
  const size = script.resultCharacters / (script.callsPerRound * script.resultsPerCall)
  return [
    ...places.map((place) => toolCallBlock(place, { toolId: 'react.read', params: { paths: [`ks:${place.callId}`] } })),
    ...places.flatMap((place) =>
      Array.from({ length: script.resultsPerCall }, (_, n) =>
        toolResultBlock(place, { mime: 'text/plain', text: words(`${place.callId}.${n}`, size) }),
      ),
    ),
  ]
}

/** Unique text of about this many characters. */
function words(about: string, characters: number): string {
  let text = ''
  for (let n = 0; text.length < characters; n++) text += `${about} says ${n}. `
  return text.slice(0, Math.max(1, Math.floor(characters)))
}

export interface Costs {
  readonly ideal: Bill
  /** The cost with the parts and marks of Daybook. */
  readonly ours: Bill
  /** The cost of the same prompts at a provider with automatic prefix caching. */
  readonly automatic: Bill
  /** The cost with the parts of Daybook, but only with the last of its marks. */
  readonly tailOnly: Bill
  /** The cost with one part per block and one mark on the last part of the prompt. */
  readonly lastPart: Bill
  readonly uncached: Bill
}

export function costsOf(calls: readonly ScriptedCall[]): Costs {
  const run = (kind: 'anthropic' | 'prefix', prompts: readonly ModelCall[]) => {
    const cache = createCacheSimulator({ kind, minimumTokens: 1_024, ttlSeconds: 300, count: roughTokens })
    return sumBills(prompts.map((prompt) => cache.call(prompt)))
  }
  const lastMark = (parts: readonly Part[]) => parts.findLastIndex((part) => part.cache === true)
  return {
    ideal: idealBill(calls, roughTokens),
    ours: run('anthropic', calls),
    automatic: run('prefix', calls),
    tailOnly: run(
      'anthropic',
      calls.map((call) => ({ ...call, parts: markedOnlyAt(call.parts, lastMark(call.parts)) })),
    ),
    lastPart: run(
      'anthropic',
      calls.map((call) => ({ ...call, parts: markedOnlyAt(call.apart, call.apart.length - 1) })),
    ),
    uncached: uncachedBill(calls, roughTokens),
  }
}

const markedOnlyAt = (parts: readonly Part[], mark: number): readonly Part[] =>
  parts.map(({ cache: _cache, ...part }, index): Part => (index === mark ? { ...part, cache: true } : part))
