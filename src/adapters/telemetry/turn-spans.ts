import { type Context, context, type Span, SpanKind, type Tracer, trace } from '@opentelemetry/api'
import { callUsages } from '../../core/cost/call-usage.ts'
import { BILLION, totalOf } from '../../core/cost/price.ts'
import type { EntryEvent } from '../../core/event.ts'
import type { ModelUsage } from '../../core/model-event.ts'
import type { ResponseReceived, TurnClosed, TurnResumed } from '../../core/timeline/change.ts'
import type { Usage } from '../../core/timeline/response-record.ts'
import { readChange } from '../../core/view/read-change.ts'
import type { ModelRole } from '../../ports/model.ts'
import type { ObservedAgent } from '../../ports/telemetry.ts'
import { addUsage, conversationAttributes, fail, modelAttributes, noUsage, usageAttributes } from './attributes.ts'
import { mayHaveMissed, missOfCall } from './miss-of-call.ts'

/**
 * The spans of the turns that are running. They are made from journal entries, and from calls of these functions when a model call begins
 * and ends.
 */
export interface TurnSpans {
  onEntry(conversationId: string, event: EntryEvent): void
  /**
   * The context of a model call that is about to begin. If the call begins a round or a compaction, the span of the round or compaction is
   * started.
   */
  contextOfCall(conversationId: string, role: ModelRole): Context
  /**
   * Keeps the span of a model call. Call the returned function when the call has ended. The span is closed when the journal contains the
   * response.
   */
  beginCall(conversationId: string, role: ModelRole, span: Span): () => void
  /** The context of the current round. */
  roundContext(conversationId: string, turnId: string): Context
  /** Ends the spans of turns that were interrupted. */
  close(): void
}

interface OpenSpan {
  readonly span: Span
  readonly context: Context
}

interface OpenTurn extends OpenSpan {
  turnId: string | undefined
  /** `answered` becomes true with the response of the round. A model call before that is a retry, and a call after that is a new round. */
  round: (OpenSpan & { answered: boolean; lastAt: number }) | undefined
  compaction: OpenSpan | undefined
  readonly calls: Map<ModelRole, { readonly span: Span; endedAt: number | undefined }>
  rounds: number
  usage: ModelUsage
  money: number
}

/** How many conversations are remembered with the usage of their last response. */
const maxRemembered = 10_000

export function createTurnSpans(tracer: Pick<Tracer, 'startSpan'>, agentName: string, agent: ObservedAgent): TurnSpans {
  const turns = new Map<string, OpenTurn>()
  const lastUsages = new Map<string, Usage>()

  function open(name: string, conversationId: string, parent: Context, attributes = {}): OpenSpan {
    const all = { ...conversationAttributes(conversationId), ...attributes }
    const span = tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes: all }, parent)
    return { span, context: trace.setSpan(parent, span) }
  }

  function openTurn(conversationId: string, turnId: string | undefined, resumed: boolean): OpenTurn {
    const before = turns.get(conversationId)
    if (before) interrupt(conversationId, before)
    const turn = {
      ...open(`invoke_agent ${agentName}`, conversationId, context.active(), {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': agentName,
        'daybook.turn.resumed': resumed,
        ...(turnId !== undefined && { 'daybook.turn.id': turnId }),
      }),
      turnId,
      round: undefined,
      compaction: undefined,
      calls: new Map(),
      rounds: 0,
      usage: noUsage,
      money: 0,
    }
    turns.set(conversationId, turn)
    return turn
  }

  /**
   * The running turn. If another process has begun the turn, this process has not seen the entry `turn.opened`, so the turn is added here.
   */
  const turnOf = (conversationId: string): OpenTurn => turns.get(conversationId) ?? openTurn(conversationId, undefined, true)

  function endRound(turn: OpenTurn): void {
    turn.round?.span.end(turn.round.lastAt)
    turn.round = undefined
  }

  function endCompaction(turn: OpenTurn, completed: boolean): void {
    turn.compaction?.span.setAttribute('daybook.compaction.completed', completed)
    turn.compaction?.span.end()
    turn.compaction = undefined
  }

  /** Ends all spans inside a turn. A model call whose response is not in the journal failed or was interrupted. */
  function endParts(turn: OpenTurn): void {
    for (const { span, endedAt } of turn.calls.values()) span.end(endedAt)
    turn.calls.clear()
    endRound(turn)
    endCompaction(turn, false)
  }

  function interrupt(conversationId: string, turn: OpenTurn): void {
    endParts(turn)
    fail(turn.span, 'interrupted')
    turn.span.end()
    turns.delete(conversationId)
  }

  function onResponse(conversationId: string, turn: OpenTurn, seq: number, response: ResponseReceived): void {
    const role = response.role ?? 'decision'
    const { usage, money } = costOf(response, agent)
    turn.usage = addUsage(turn.usage, usage)
    turn.money += money
    const call = turn.calls.get(role)
    turn.calls.delete(role)
    if (role === 'decision') {
      turn.rounds += 1
      turn.round?.span.setAttribute('daybook.round', response.iteration)
      if (turn.round) turn.round.answered = true
    }
    if (!call) return // the model call was made by another process, which died
    const endedAt = call.endedAt ?? Date.now()
    call.span.setAttributes({
      ...usageAttributes(usage),
      'daybook.cost.usd': money,
      'daybook.round': response.iteration,
      'gen_ai.response.model': modelAttributes(response.prompt?.model ?? '')['gen_ai.request.model'],
    })
    const before = lastUsages.get(conversationId)
    if (role !== 'decision' || !mayHaveMissed(response.usage, before)) call.span.end(endedAt)
    else explainMiss(conversationId, seq, response, call.span).finally(() => call.span.end(endedAt))
    if (role === 'decision' && response.usage) remember(conversationId, response.usage)
  }

  async function explainMiss(conversationId: string, seq: number, response: ResponseReceived, span: Span): Promise<void> {
    try {
      const miss = await missOfCall(agent, conversationId, seq, response)
      if (miss) span.setAttributes({ 'daybook.cache.miss.cause': miss.cause, 'daybook.cache.miss.tokens': Math.round(miss.tokens) })
    } catch (error) {
      agent.onProblem({ where: 'telemetry', error })
    }
  }

  function remember(conversationId: string, usage: Usage): void {
    lastUsages.delete(conversationId)
    lastUsages.set(conversationId, usage)
    const [oldest] = lastUsages.keys()
    if (lastUsages.size > maxRemembered && oldest !== undefined) lastUsages.delete(oldest)
  }

  /** Ends the span of a turn that was closed, or that waits. If a turn continues after a wait, it gets another span. */
  function endTurn(conversationId: string, turn: OpenTurn, turnId: string, exitReason: string): void {
    endParts(turn)
    turn.span.setAttributes({
      'daybook.turn.id': turnId,
      'daybook.turn.exit_reason': exitReason,
      'daybook.turn.rounds': turn.rounds,
      ...usageAttributes(turn.usage),
      'daybook.cost.usd': turn.money,
    })
    turn.span.end()
    turns.delete(conversationId)
  }

  function onClosed(conversationId: string, turn: OpenTurn, closed: TurnClosed): void {
    if (readChange(closed).some((event) => event.kind === 'turn.ended' && event.failed)) fail(turn.span, closed.exit_reason)
    endTurn(conversationId, turn, closed.turn_id, closed.exit_reason)
  }

  /**
   * Makes a span for each wait that has ended. The wait may have begun days ago in another process, so its start time is read from the
   * journal.
   */
  async function onResumed(conversationId: string, parent: Context, { wait_ids, ts }: TurnResumed): Promise<void> {
    try {
      for await (const { change } of agent.readJournal(conversationId)) {
        if (change.type !== 'turn.waiting') continue
        for (const { wait_id, kind } of change.waits.filter((wait) => wait_ids.includes(wait.wait_id))) {
          const attributes = { ...conversationAttributes(conversationId), 'daybook.wait.id': wait_id, 'daybook.wait.kind': kind }
          tracer.startSpan('wait', { kind: SpanKind.INTERNAL, attributes, startTime: new Date(change.ts) }, parent).end(new Date(ts))
        }
      }
    } catch (error) {
      agent.onProblem({ where: 'telemetry', error })
    }
  }

  return {
    onEntry(conversationId, { seq, change }) {
      if (change.type === 'turn.opened') {
        openTurn(conversationId, change.turn_id, false)
        return
      }
      const turn = turns.get(conversationId)
      if (turn?.round) turn.round.lastAt = Date.now()
      if (change.type === 'response.received') onResponse(conversationId, turn ?? turnOf(conversationId), seq, change)
      else if (change.type === 'turn.waiting') {
        if (turn && !change.active) endTurn(conversationId, turn, change.turn_id, 'waiting')
      } else if (change.type === 'turn.resumed') void onResumed(conversationId, (turn ?? turnOf(conversationId)).context, change)
      else if (change.type === 'turn.closed') onClosed(conversationId, turn ?? turnOf(conversationId), change)
      else if (change.type === 'range.compacted' && turn) {
        turn.compaction ??= open('compaction', conversationId, turn.context)
        endCompaction(turn, true)
      }
    },
    contextOfCall(conversationId, role) {
      const turn = turnOf(conversationId)
      if (role === 'gate') return turn.context
      if (role === 'compaction') {
        turn.compaction ??= open('compaction', conversationId, turn.context)
        return turn.compaction.context
      }
      endCompaction(turn, false)
      if (turn.round?.answered) endRound(turn)
      turn.round ??= { ...open('round', conversationId, turn.context), answered: false, lastAt: Date.now() }
      return turn.round.context
    },
    beginCall(conversationId, role, span) {
      const { calls } = turnOf(conversationId)
      const failed = calls.get(role) // the last attempt failed and got no response
      failed?.span.end(failed.endedAt)
      const call: { readonly span: Span; endedAt: number | undefined } = { span, endedAt: undefined }
      calls.set(role, call)
      return () => {
        call.endedAt = Date.now()
      }
    },
    roundContext(conversationId, turnId) {
      const turn = turnOf(conversationId)
      turn.turnId ??= turnId
      return (turn.round ?? turn).context
    },
    close() {
      for (const [conversationId, turn] of turns) interrupt(conversationId, turn)
    },
  }
}

/** The tokens and the price of a response and of the failed attempts before it. The price of a call is 0 if it is not known. */
function costOf(response: ResponseReceived, { chargeOf }: ObservedAgent): { readonly usage: ModelUsage; readonly money: number } {
  let usage = noUsage
  let money = 0
  for (const call of callUsages(response)) {
    const charge = chargeOf(call.usage, call.model, response.ts)
    usage = addUsage(usage, call.usage)
    money += charge ? totalOf(charge) / BILLION : 0
  }
  return { usage, money }
}
