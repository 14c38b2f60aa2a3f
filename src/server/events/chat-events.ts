import { type Block, readPlan, readToolCall } from '../../core/block/index.ts'
import { replaceBatch } from '../../core/citations/replace.ts'
import type { Scope } from '../../core/scope.ts'
import { isCitable, type SourceRow } from '../../core/sources/source.ts'
import { type Change, changeTime, type ResponseReceived, type TurnClosed } from '../../core/timeline/change.ts'

/** The JSON that chat clients receive for every event. */
export interface ChatEnvelope {
  readonly type: string
  readonly timestamp: string
  readonly ts: number
  readonly service: { readonly request_id: string; readonly tenant: string; readonly project: string; readonly user: string }
  readonly conversation: { readonly session_id: string; readonly conversation_id: string; readonly turn_id: string | null }
  readonly event: {
    readonly agent: string
    readonly step: string
    readonly status: ChatStatus
    readonly title?: string
    readonly markdown?: string
  }
  readonly data: Readonly<Record<string, unknown>>
  readonly delta?: { readonly text: string; readonly marker: string; readonly index: number; readonly completed: boolean }
  readonly extra?: Readonly<Record<string, unknown>>
  readonly route: ChatRoute
}

type ChatStatus = 'started' | 'running' | 'completed' | 'error' | 'skipped' | 'update'
type ChatRoute =
  | 'chat_start'
  | 'chat_step'
  | 'chat_delta'
  | 'chat_compaction'
  | 'chat_complete'
  | 'chat_error'
  | 'chat_service'
  | 'conv_status'

/** The part of an envelope that is the same for a whole stream. */
export interface ChatContext {
  readonly requestId: string
  readonly conversationId: string
  readonly scope: Scope
}

/** The part of an envelope that differs from event to event. */
export type ChatEvent = Pick<ChatEnvelope, 'type' | 'event' | 'data' | 'route'> &
  Partial<Pick<ChatEnvelope, 'delta' | 'extra'>> & { readonly turnId: string | null; readonly timestamp: string }

export function toEnvelope({ requestId, conversationId, scope }: ChatContext, chatEvent: ChatEvent): ChatEnvelope {
  const { type, turnId, timestamp, event, data, delta, extra, route } = chatEvent
  return {
    type,
    timestamp,
    ts: Date.parse(timestamp),
    service: { request_id: requestId, ...scope },
    conversation: { session_id: conversationId, conversation_id: conversationId, turn_id: turnId },
    event,
    data,
    ...(delta && { delta }),
    ...(extra && { extra }),
    route,
  }
}

/** The chat events of one journal entry. Derived from the entry alone, so that a client that replays the journal receives the same events. */
export function chatEventsOf(change: Change, sources: ReadonlyMap<number, SourceRow>): readonly ChatEvent[] {
  const timestamp = changeTime(change) ?? unknownTime
  switch (change.type) {
    case 'turn.opened':
      return [statusEvent('in_progress', change.turn_id, timestamp)]
    case 'turn.closed':
      return turnClosedEvents(change)
    case 'title.set':
      return [stepEvent('chat.conversation.title', 'conversation_title', 'completed', null, timestamp, { title: change.title })]
    case 'response.received':
      return responseEvents(change)
    case 'sources.used':
      return [citationsEvent(change.sids, timestamp, sources)]
    case 'event.accepted': {
      const { event_id, kind, text, target_turn_id = null } = change.event
      return [serviceEvent(`timeline.external.${kind}.accepted`, 'update', target_turn_id, timestamp, { event_id, kind, text })]
    }
    case 'event.folded':
      return [serviceEvent('timeline.external.folded', 'completed', change.turn_id, timestamp, { event_ids: change.event_ids })]
    case 'range.compacted':
      return [compactionEvent(change, timestamp)]
    case 'blocks.appended':
      return appendedEvents(change.blocks, sources)
    case 'blocks.inserted':
    case 'blocks.hidden':
    case 'blocks.revealed':
    case 'sources.merged':
    case 'source.removed':
    case 'feedback.seen':
    case 'timeline.imported':
      return [] // changes of the prompt, not of what a chat shows
    default:
      return change satisfies never
  }
}

/** Of changes without a time. */
const unknownTime = new Date(0).toISOString()

function chatEvent(
  type: string,
  [name, state]: readonly [string, ChatStatus],
  turnId: string | null,
  timestamp: string,
  data: ChatEvent['data'],
  route: ChatRoute,
): ChatEvent {
  return { type, event: { agent: 'react', step: name, status: state }, turnId, timestamp, data, route }
}

const stepEvent = (type: string, name: string, state: ChatStatus, turnId: string | null, timestamp: string, data: ChatEvent['data']) =>
  chatEvent(type, [name, state], turnId, timestamp, data, 'chat_step')

const serviceEvent = (type: string, state: ChatStatus, turnId: string | null, timestamp: string, data: ChatEvent['data']) =>
  chatEvent(type, [type, state], turnId, timestamp, data, 'chat_service')

const statusEvent = (state: 'in_progress' | 'idle' | 'error', turnId: string, timestamp: string, more: ChatEvent['data'] = {}) =>
  chatEvent(
    'conv.status',
    ['conversation', state === 'error' ? 'error' : 'update'],
    turnId,
    timestamp,
    {
      state,
      updated_at: timestamp,
      current_turn_id: state === 'in_progress' ? turnId : null,
      ...more,
    },
    'conv_status',
  )

function turnClosedEvents({ turn_id, ts, exit_reason, sources_used = [] }: TurnClosed): readonly ChatEvent[] {
  const failed = exit_reason === 'error' || exit_reason === 'protocol_violation'
  const data = { exit_reason, citation_count: sources_used.length }
  return [
    stepEvent('chat.conversation.turn.completed', 'turn', failed ? 'error' : 'completed', turn_id, ts, data),
    ...(failed
      ? [chatEvent('chat.error', ['turn', 'error'], turn_id, ts, { error: turnFailedText, error_type: exit_reason }, 'chat_error')]
      : []),
    statusEvent(failed ? 'error' : 'idle', turn_id, ts, { completion: exit_reason === 'steer' ? 'interrupted' : 'completed' }),
  ]
}

const turnFailedText = 'The turn could not be finished. What was done so far is kept.'

function responseEvents({ turn_id, ts, iteration, role, finish_reason, usage, prompt }: ResponseReceived): readonly ChatEvent[] {
  const model = prompt?.model ?? null
  const decision =
    role === undefined
      ? [stepEvent('solver.react.decision', `react(${iteration}).decision`, 'completed', turn_id, ts, { finish_reason })]
      : []
  const billing = usage ? [serviceEvent('accounting.usage', 'completed', turn_id, ts, { role: role ?? 'decision', model, usage })] : []
  return [...decision, ...billing]
}

function citationsEvent(sids: readonly number[], timestamp: string, sources: ReadonlyMap<number, SourceRow>): ChatEvent {
  const items = sids.flatMap((sid) => {
    const row = sources.get(sid)
    if (!row || !isCitable(row)) return []
    const { content: _content, base64: _base64, ...fields } = row as SourceRow & { content?: unknown; base64?: unknown }
    return [{ ...fields, used: true }]
  })
  return stepEvent('chat.citations', 'citations', 'completed', null, timestamp, { count: items.length, items })
}

function compactionEvent(change: Change & { type: 'range.compacted' }, timestamp: string): ChatEvent {
  const data = { kind: 'range', covered_turns: change.covered.length }
  return chatEvent(
    'chat.compaction',
    ['compaction', 'completed'],
    change.blocks.at(-1)?.turn_id ?? null,
    timestamp,
    data,
    'chat_compaction',
  )
}

function blockEvents(block: Block): readonly ChatEvent[] {
  const { turn_id: turnId, ts, text = '', meta } = block
  switch (block.type) {
    case 'user.prompt':
      return [chatEvent('chat.start', ['turn', 'started'], turnId, ts, { message: text }, 'chat_start')]
    case 'react.tool.call': {
      const call = readToolCall(block)
      return call ? [serviceEvent('react.tool.call', 'started', turnId, ts, { ...call, iteration: meta?.iteration ?? null })] : []
    }
    case 'react.tool.result':
      return [...fileEvents(block), serviceEvent('react.tool.result', 'completed', turnId, ts, resultData(block))]
    case 'react.plan':
      return [stepEvent('react.plan', 'plan', 'update', turnId, ts, { plan: readPlan(block) ?? null })]
    case 'stage.clarification':
      return [stepEvent('chat.clarification_questions', 'clarification', 'completed', turnId, ts, { items: meta?.questions ?? [] })]
    case 'stage.suggested_followups':
      return [stepEvent('chat.followups', 'followups', 'completed', turnId, ts, { items: meta?.items ?? [] })]
    default:
      return []
  }
}

const resultData = ({ path, mime, call_id, text }: Block) => ({
  tool_call_id: call_id ?? null,
  path: path ?? null,
  mime: mime ?? null,
  text,
})

function fileEvents({ turn_id, ts, path, mime, meta }: Block): readonly ChatEvent[] {
  if (meta?.rn === undefined) return []
  const filename = path?.split('/').at(-1) ?? ''
  const item = { filename, mime: mime ?? null, size: meta.size_bytes ?? null, rn: meta.rn, logical_path: path ?? null, ts }
  return [stepEvent('chat.files', 'files', 'completed', turn_id, ts, { count: 1, items: [item] })]
}

/** The last completion of a turn is its answer; earlier ones were superseded by a followup and are not sent again. */
function appendedEvents(blocks: readonly Block[], sources: ReadonlyMap<number, SourceRow>): readonly ChatEvent[] {
  const answer = blocks.findLast(({ type }) => type === 'assistant.completion')
  return blocks.flatMap((block) => (block === answer ? [completeEvent(answer, blocks, sources)] : blockEvents(block)))
}

/** Citation marks become links, as they did while the answer was streamed. */
function completeEvent(
  { text = '', turn_id, ts, meta }: Block,
  blocks: readonly Block[],
  sources: ReadonlyMap<number, SourceRow>,
): ChatEvent {
  const followups = blocks.find(({ type }) => type === 'stage.suggested_followups')?.meta?.items
  const data = {
    final_answer: replaceBatch(text, sources, { keepUnresolved: false }),
    sources_used: meta?.sources_used ?? [],
    ...(Array.isArray(followups) && { followups }),
    ...(meta?.truncated === true && { truncated: true }),
  }
  return chatEvent('chat.complete', ['turn', 'completed'], turn_id, ts, data, 'chat_complete')
}
