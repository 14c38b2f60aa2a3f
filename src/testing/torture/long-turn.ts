import { z } from 'zod'
import { type Block, readNotice } from '../../core/block/index.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { ModelEvent } from '../../core/model-event.ts'
import { blocksOf, type Timeline } from '../../core/timeline/timeline.ts'
import type { Model, ModelRequest } from '../../ports/model.ts'
import { defineTool } from '../../tools/define.ts'
import type { Call, Tool } from '../../tools/tool.ts'
import { reply } from '../scripted-model.ts'

/**
 * A turn of thirty rounds that any process can continue, because the replies of the model depend only on the prompt. An observer counts
 * model calls and effects of tools. The functions below also make shorter turns.
 */
export const ROUNDS = 30

const INVALID_ROUND = 5

/**
 * The number of entries of the turn:
 *
 * - one to open the turn, and one for the title
 * - two for each round with a tool call
 * - one for the invalid response, which a short turn does not have
 * - one for the answer
 */
export const entriesOf = (rounds: number): number => (rounds > INVALID_ROUND + 1 ? 2 + 2 * (rounds - 2) + 1 + 1 : 2 + 2 * (rounds - 1) + 1)

export const ENTRIES = entriesOf(ROUNDS)

export const settings = { maxRounds: 40 }

export interface TurnObserver {
  /** Called when the agent asks the model for a decision. */
  onDecision(iteration: number, conversationId: string, request?: ModelRequest): void
  /** Called when a tool has done something that can not be undone. */
  onEffect(key: string, toolId: string): void
  /** Called before each piece of a response, and before and after the effect of a tool. A test may pause or kill the process in it. */
  onStep(where: string, conversationId: string): void | Promise<void>
}

export const noObserver: TurnObserver = { onDecision: () => {}, onEffect: () => {}, onStep: () => {} }

export function longTurnModel(observer: TurnObserver, rounds = ROUNDS): Model {
  return {
    name: 'long-turn',
    window: 200_000,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      const conversationId = request.cacheKey
      const iteration = request.role === 'decision' ? iterationOf(request) : -1
      if (request.role === 'decision') observer.onDecision(iteration, conversationId, request)
      const text = request.role === 'gate' ? title : modelReply(iteration, request, rounds)
      for (let at = 0; at < text.length; at += CHUNK) {
        await observer.onStep(`model ${iteration} ${at / CHUNK}`, conversationId)
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

/**
 * The reply of the model. In the thirty rounds, the replies call each kind of tool, one reply is invalid, and the last reply is the answer.
 */
function modelReply(iteration: number, request: ModelRequest, rounds: number): string {
  if (iteration === rounds - 1) return reply.answer('Thirty rounds later.', { followups: ['Again?'] })
  if (iteration === INVALID_ROUND)
    return '<channel:thinking>Oops.</channel:thinking><channel:action>{"action": "call_tool"</channel:action>'
  if (iteration === 3) return reply.call('react.plan', { mode: 'new', steps: ['pay', 'look'] })
  if (iteration === 8) return reply.call('shop.pay', { amount: iteration }, { notes: '✓ [1] paid' })
  if (iteration === 11) return reply.call('react.hide', { path: lastResult(request), replacement_text: 'seen' })
  if (iteration % 5 === 4)
    return reply.call('react.write', { path: `page-${iteration}.md`, channel: 'canvas', content: `Page ${iteration}`, kind: 'file' })
  return iteration % 2 === 0 && iteration !== 10
    ? reply.call('shop.pay', { amount: iteration })
    : reply.call('shop.look', { shelf: iteration })
}

function lastResult({ parts }: ModelRequest): string {
  const shown = parts.flatMap((part) => (part.type === 'text' ? [...part.text.matchAll(/tc:\S+?\.result/g)] : []))
  return shown.at(-1)?.[0] ?? ''
}

/** Like `observer.onEffect`, `onCall` is called for each effect, but it gets the whole call. */
export function longTurnTools(observer: TurnObserver, onCall: (call: Call) => void = () => {}): readonly Tool[] {
  const act = async (toolId: string, call: Call) => {
    await observer.onStep(`tool ${call.origin.iteration} before`, call.conversationId)
    observer.onEffect(call.idempotencyKey, toolId)
    onCall(call)
    await observer.onStep(`tool ${call.origin.iteration} after`, call.conversationId)
  }
  const pay = defineTool({
    id: 'shop.pay',
    description: 'Pays. Must not be repeated.',
    params: z.object({ amount: z.number() }),
    async run({ amount }, call) {
      await act('shop.pay', call)
      return { paid: amount }
    },
  })
  const look = defineTool({
    id: 'shop.look',
    description: 'Looks at a shelf. May be repeated.',
    params: z.object({ shelf: z.number() }),
    repeatable: true,
    async run({ shelf }, call) {
      await act('shop.look', call)
      return { shelf, goods: ['tea', 'salt'] }
    },
  })
  return [pay, look]
}

/**
 * The blocks of a timeline as lines, without ids, times and the notices that a restart adds. `unknown` are the rounds whose tool results
 * say that the outcome is unknown.
 */
export function normalizedLines(timeline: Timeline): { readonly lines: readonly string[]; readonly unknown: readonly number[] } {
  const blocks = blocksOf(timeline)
  const names = placeholdersOf(blocks)
  const unknown = blocks.flatMap((block) => (isUnknownOutcome(block) ? [Number(block.meta?.iteration)] : []))
  const compared = blocks.filter((block) => readNotice(block)?.code !== 'tool_call_error.outcome_unknown')
  return { lines: compared.map((block) => `${block.meta?.iteration ?? ''} ${lineOf(block, names)}`), unknown }
}

/** The lines without the tool results of these rounds. */
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

/**
 * Placeholders for ids, in the order of replacement. A whole call id is replaced before its last eight characters are, because plan ids
 * contain only these eight characters.
 */
function placeholdersOf(blocks: readonly Block[]): ReadonlyMap<string, string> {
  const calls = blocks.flatMap(({ meta }) =>
    meta?.tool_call_id === undefined ? [] : [[meta.tool_call_id, `<call ${meta.iteration}>`] as const],
  )
  const shortened = calls.map(([id, name]) => [id.slice(-8), name] as const)
  return new Map([...blocks.map(({ turn_id }) => [turn_id, '<turn>'] as const), ...calls, ...shortened])
}
