import { z } from 'zod'
import { type Block, readNotice } from '../../../src/core/block/index.ts'
import { isObject, parseJson } from '../../../src/core/json.ts'
import type { ModelEvent } from '../../../src/core/model-event.ts'
import { blocksOf, type Timeline } from '../../../src/core/timeline/timeline.ts'
import type { Model, ModelRequest } from '../../../src/ports/model.ts'
import { answers, calls } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Call, Tool } from '../../../src/tools/tool.ts'

/**
 * A turn of thirty rounds that any process can go on with: what the model says depends on what it is shown, and on nothing that a
 * process could forget. Effects and questions are counted outside.
 */
export const ROUNDS = 30

/** One to open, one for the title, two per tool round, one for the refused round and one for the answer. */
export const ENTRIES = 2 + 2 * (ROUNDS - 2) + 1 + 1

export const settings = { maxRounds: 40 }

export interface TurnObserver {
  /** A decision is asked for. */
  onDecision(iteration: number, conversation: string): void
  /** Something happened in the world that can not be undone. */
  onEffect(key: string, toolId: string): void
  /** The model is about to say its next piece, or a tool is before or behind its effect. A test may stop time, or the process, here. */
  onStep(where: string, conversation: string): void | Promise<void>
}

export const noObserver: TurnObserver = { onDecision: () => {}, onEffect: () => {}, onStep: () => {} }

export function longTurnModel(outside: TurnObserver): Model {
  return {
    name: 'long-turn',
    window: 200_000,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      const conversation = request.cacheKey
      const iteration = request.role === 'decision' ? iterationOf(request) : -1
      if (request.role === 'decision') outside.onDecision(iteration, conversation)
      const text = request.role === 'gate' ? title : reply(iteration, request)
      for (let at = 0; at < text.length; at += CHUNK) {
        await outside.onStep(`model ${iteration} ${at / CHUNK}`, conversation)
        if (signal.aborted) return
        yield { type: 'text.delta', text: text.slice(at, at + CHUNK) }
      }
      const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: text.length, reasoning: 0 }
      yield { type: 'finish', finishReason: 'stop', modelName: 'long-turn', usage }
    },
  }
}

const CHUNK = 40
const title = '<channel:thinking>A title.</channel:thinking><channel:output>{"conversation_title":"Thirty rounds"}</channel:output>'

function iterationOf({ parts }: ModelRequest): number {
  const last = parts.at(-1)
  return Number(/Iteration (\d+)\//.exec(last?.type === 'text' ? last.text : '')?.[1]) - 1
}

/** Pays, looks, writes, plans, hides, makes a mistake, and answers in the end. */
function reply(iteration: number, request: ModelRequest): string {
  if (iteration === ROUNDS - 1) return answers('Thirty rounds later.', { followups: ['Again?'] })
  if (iteration === 5) return '<channel:thinking>Oops.</channel:thinking><channel:action>{"action": "call_tool"</channel:action>'
  if (iteration === 3) return calls('react.plan', { mode: 'new', steps: ['pay', 'look'] })
  if (iteration === 8) return calls('shop.pay', { amount: iteration }, { notes: '✓ [1] paid' })
  if (iteration === 11) return calls('react.hide', { path: lastResult(request), replacement_text: 'seen' })
  if (iteration % 5 === 4)
    return calls('react.write', { path: `page-${iteration}.md`, channel: 'canvas', content: `Page ${iteration}`, kind: 'file' })
  return iteration % 2 === 0 && iteration !== 10 ? calls('shop.pay', { amount: iteration }) : calls('shop.look', { shelf: iteration })
}

function lastResult({ parts }: ModelRequest): string {
  const shown = parts.flatMap((part) => (part.type === 'text' ? [...part.text.matchAll(/tc:\S+?\.result/g)] : []))
  return shown.at(-1)?.[0] ?? ''
}

export function longTurnTools(outside: TurnObserver): readonly Tool[] {
  const act = async (toolId: string, call: Call) => {
    await outside.onStep(`tool ${call.origin.iteration} before`, call.conversationId)
    outside.onEffect(call.idempotencyKey, toolId)
    await outside.onStep(`tool ${call.origin.iteration} behind`, call.conversationId)
  }
  const pay = defineTool({
    id: 'shop.pay',
    description: 'Pays. Paying twice is paying twice.',
    params: z.object({ amount: z.number() }),
    async run({ amount }, call) {
      await act('shop.pay', call)
      return { paid: amount }
    },
  })
  const look = defineTool({
    id: 'shop.look',
    description: 'Looks at a shelf. Looking again does no harm.',
    params: z.object({ shelf: z.number() }),
    repeatable: true,
    async run({ shelf }, call) {
      await act('shop.look', call)
      return { shelf, goods: ['tea', 'salt'] }
    },
  })
  return [pay, look]
}

/** What a timeline says when nobody looks at ids, times, and what a restart adds. Results whose outcome nobody knows are named by round. */
export function normalizedLines(timeline: Timeline): { readonly lines: readonly string[]; readonly unknown: readonly number[] } {
  const blocks = blocksOf(timeline)
  const names = placeholdersOf(blocks)
  const unknown = blocks.flatMap((block) => (isUnknownOutcome(block) ? [Number(block.meta?.iteration)] : []))
  const kept = blocks.filter((block) => readNotice(block)?.code !== 'tool_call_error.outcome_unknown')
  return { lines: kept.map((block) => `${block.meta?.iteration ?? ''} ${lineOf(block, names)}`), unknown }
}

/** The same story, with the results of these rounds left out. */
export const withoutResultsOf = (lines: readonly string[], rounds: readonly number[]): readonly string[] =>
  lines.filter((line) => !(line.includes('"react.tool.result"') && rounds.includes(Number.parseInt(line, 10))))

function isUnknownOutcome(block: Block): boolean {
  const payload = block.type === 'react.tool.result' ? parseJson(block.text) : undefined
  return isObject(payload) && isObject(payload.error) && payload.error.code === 'outcome_unknown'
}

function lineOf({ id: _id, ts: _ts, ...block }: Block, names: ReadonlyMap<string, string>): string {
  let line = JSON.stringify(block)
  for (const [id, name] of names) line = line.replaceAll(id, name)
  return line.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<ts>')
}

/** Call ids before what ends with them: a plan is named after the last digits of its call. */
function placeholdersOf(blocks: readonly Block[]): ReadonlyMap<string, string> {
  const calls = blocks.flatMap(({ meta }) =>
    meta?.tool_call_id === undefined ? [] : [[meta.tool_call_id, `<call ${meta.iteration}>`] as const],
  )
  const shortened = calls.map(([id, name]) => [id.slice(-8), name] as const)
  return new Map([...blocks.map(({ turn_id }) => [turn_id, '<turn>'] as const), ...calls, ...shortened])
}
