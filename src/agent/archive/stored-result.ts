import type { TurnResultView } from '../../core/api/turn-result.ts'
import type { Block } from '../../core/block/index.ts'
import type { PriceOf } from '../../core/cost/price.ts'
import { addChildCalls, addResponse, costOfTurn, noSums } from '../../core/cost/turn-usage.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import { omitUndefined, parseJson } from '../../core/json.ts'
import type { TurnClosed, TurnOpened } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { readBlocks } from '../../core/view/read-block.ts'
import { filesOfTurn } from '../../core/view/turn-files.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { answerFields, type ExitReason, endFields, outputFields, type TurnResult, type TurnTimings, timesOf } from '../turn/result.ts'

/**
 * The result of a turn as it is read from the journal. `exitReason` is null while the turn is open. The durations of single calls are not
 * stored.
 */
export interface StoredResult extends Omit<TurnResult, 'exitReason' | 'timings' | 'writtenUsage' | 'error'> {
  readonly exitReason: string | null
  readonly timings: Pick<TurnTimings, 'startedAt' | 'endedAt' | 'totalMs'>
}

/**
 * Reads the result of a turn from the journal. Undefined when the conversation has no such turn. The cited sources are taken from
 * `timeline`.
 */
export async function readStoredResult(
  store: Pick<ConversationStore, 'readJournal'>,
  conversationId: string,
  turnId: string,
  timeline: Timeline,
  priceOf: PriceOf | undefined,
): Promise<StoredResult | undefined> {
  const sums = noSums()
  const blocks: Block[] = []
  let opened: TurnOpened | undefined
  let closed: TurnClosed | undefined
  let rounds = 0
  for await (const { change } of store.readJournal(conversationId, { after: 0 })) {
    if (change.type === 'turn.opened' && change.turn_id === turnId) opened = change
    if (!opened) continue
    if (change.type === 'blocks.appended') {
      const ofTurn = change.blocks.filter((block) => block.turn_id === turnId)
      for (const block of ofTurn) addChildCalls(sums, block, priceOf)
      blocks.push(...ofTurn)
    } else if (change.type === 'response.received' && change.turn_id === turnId) {
      addResponse(sums, change, priceOf)
      if (change.role === undefined) rounds++
    } else if (change.type === 'turn.closed' && change.turn_id === turnId) {
      closed = change
      break
    }
  }
  if (!opened) return undefined
  const events = readBlocks(blocks)
  const answer = events.find((event) => event.kind === 'answer' && event.state === 'final')
  const final = answer?.kind === 'answer' ? answer : { text: '', truncated: false, stopped: false }
  const followups = events.find((event) => event.kind === 'followups')
  const output = outputIn(blocks)
  return {
    turnId,
    ...endFields(closed?.exit_reason ?? '', final.truncated),
    exitReason: closed?.exit_reason ?? null,
    ...answerFields({ answer: final.text, followups: followups?.kind === 'followups' ? followups.items : [], ...output }, timeline),
    // an exit reason that this version does not know is treated as an error
    ...(opened.options?.output && closed && outputFields({ answer: final.text, ...output }, closed.exit_reason as ExitReason)),
    files: filesOfTurn(blocks, turnId),
    ...(final.stopped && { stopped: true }),
    usage: sums.usage,
    cost: costOfTurn(sums, priceOf),
    rounds,
    timings: timesOf(opened.ts, closed?.ts),
    ...(opened.options && { options: opened.options }),
  }
}

/** The output of a turn, which is the last answer parsed as JSON. Empty if the last answer is not JSON. */
function outputIn(blocks: readonly Block[]): Pick<FinalDecision, 'output'> {
  const answer = blocks.findLast(({ type }) => type === 'assistant.completion')
  const value = answer?.mime === 'application/json' ? parseJson(answer.text) : undefined
  return value === undefined ? {} : { output: { value } }
}

/** The result in the form of the HTTP API. The content of sources is left out. */
export function turnResultView(result: StoredResult): TurnResultView {
  const { usage, timings } = result
  return {
    turn_id: result.turnId,
    exit_reason: result.exitReason,
    ok: result.ok,
    answer: result.answer,
    followups: [...result.followups],
    sources_used: [...result.sourcesUsed],
    sources: result.sources.map(({ content: _content, base64: _base64, ...fields }) => fields),
    files: result.files.map(({ size, ...file }) => omitUndefined({ ...file, size_bytes: size })),
    ...(result.output !== undefined && { output: result.output }),
    ...(result.refusal && { refusal: result.refusal }),
    truncated: result.truncated,
    ...(result.stopped && { stopped: true }),
    usage: {
      uncached: usage.uncached,
      cache_read: usage.cacheRead,
      cache_write: usage.cacheWrite,
      output: usage.output,
      reasoning: usage.reasoning,
      calls: usage.calls,
      estimated: usage.estimated,
    },
    cost: 'models' in result.cost ? { ...result.cost, models: [...result.cost.models] } : result.cost,
    rounds: result.rounds,
    timings: { started_at: timings.startedAt, ended_at: timings.endedAt ?? null, total_ms: timings.totalMs },
  }
}
