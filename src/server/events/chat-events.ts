import type { Scope } from '../../core/scope.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { CitedPage, KnownSources } from '../../core/view/known-sources.ts'
import { readChange } from '../../core/view/read-change.ts'
import type { BlockEventOf, ResponseEvent, TurnEnded, VisibleEvent } from '../../core/view/visible-event.ts'

/** The JSON object that a chat client receives for each event. */
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

/** The fields of an envelope that are the same for a whole stream. */
export interface ChatContext {
  readonly requestId: string
  readonly conversationId: string
  readonly scope: Scope
}

/** The fields of an envelope that differ from event to event. */
export type ChatEvent = Pick<ChatEnvelope, 'type' | 'event' | 'data' | 'route'> &
  Partial<Pick<ChatEnvelope, 'delta' | 'extra'>> & { readonly turnId: string | null; readonly timestamp: string }

/** The fields of an envelope that are the same in every stream of the conversation: all except `service` and `conversation`. */
export type EnvelopeBody = Omit<ChatEnvelope, 'service' | 'conversation'>

export function envelopeBody({ type, timestamp, event, data, delta, extra, route }: ChatEvent): EnvelopeBody {
  return { type, timestamp, ts: Date.parse(timestamp), event, data, ...(delta && { delta }), ...(extra && { extra }), route }
}

/** The fields of an envelope that differ between streams: the request that opened the stream, its scope, the conversation and the turn. */
export const envelopeHead = (
  { requestId, conversationId, scope }: ChatContext,
  turnId: string | null,
): Pick<ChatEnvelope, 'service' | 'conversation'> => ({
  service: { request_id: requestId, ...scope },
  conversation: { session_id: conversationId, conversation_id: conversationId, turn_id: turnId },
})

/**
 * The chat events of one journal entry. They depend only on the entry and the known sources. So sending an entry again gives the same
 * events.
 */
export function chatEventsOf(change: Change, sources: KnownSources): readonly ChatEvent[] {
  const visible = readChange(change)
  return visible.flatMap((event) => chatEventsOfVisible(event, visible, sources))
}

/**
 * The chat events of one visible event. `readChange` makes the visible events of a journal entry. They describe what people see of the
 * entry. `entry` has all visible events of the same journal entry.
 */
function chatEventsOfVisible(event: VisibleEvent, entry: readonly VisibleEvent[], sources: KnownSources): readonly ChatEvent[] {
  switch (event.kind) {
    case 'turn.started':
      return [statusEvent('in_progress', event.turnId, event.ts)]
    case 'turn.waiting':
      return [
        ...(event.waits.length > 0 ? [serviceEvent('turn.waiting', 'started', event, { waits: event.waits })] : []),
        ...(event.parked ? [statusEvent('waiting', event.turnId, event.ts)] : []),
      ]
    case 'turn.resumed':
      return [
        serviceEvent('turn.resumed', 'completed', event, { wait_ids: event.waitIds }),
        statusEvent('in_progress', event.turnId, event.ts),
      ]
    case 'turn.ended':
      return turnEndedEvents(event, sources)
    case 'title':
      return [stepEvent('chat.conversation.title', 'conversation_title', 'completed', inConversation(event), { title: event.title })]
    case 'response':
      return responseEvents(event)
    case 'sources.cited': {
      const items = sources.citedPages(event.sids).map(citation)
      return [stepEvent('chat.citations', 'citations', 'completed', inConversation(event), { count: items.length, items })]
    }
    case 'message.accepted': {
      const { event_id, kind, text, ts, target_turn_id: turnId = null } = event.message
      return [serviceEvent(`timeline.external.${kind}.accepted`, 'update', { turnId, ts }, { event_id, kind, text })]
    }
    case 'messages.read':
      return [serviceEvent('timeline.external.folded', 'completed', event, { event_ids: event.eventIds })]
    case 'compaction': {
      const origin = { turnId: event.turnId, ts: event.ts ?? unknownTime }
      const data = { kind: 'range', covered_turns: event.coveredTurns }
      return [chatEvent('chat.compaction', ['compaction', 'completed'], origin, data, 'chat_compaction')]
    }
    case 'prompt':
      return [chatEvent('chat.start', ['turn', 'started'], event, { message: event.text }, 'chat_start')]
    case 'tool.call':
      return event.call ? [serviceEvent('react.tool.call', 'started', event, { ...event.call, iteration: event.iteration ?? null })] : []
    case 'tool.result': {
      const { callId, path = null, mime = null, text } = event
      return [serviceEvent('react.tool.result', 'completed', event, { tool_call_id: callId ?? null, path, mime, text })]
    }
    case 'file':
      return [fileEvent(event)]
    case 'plan':
      return [stepEvent('react.plan', 'plan', 'update', event, { plan: event.plan ?? null })]
    case 'answer':
      // the text of an answer that did not end the turn was already sent as deltas
      return event.state === 'final' ? [completeEvent(event, entry, sources)] : []
    case 'questions':
      return [stepEvent('chat.clarification_questions', 'clarification', 'completed', event, { items: sources.linkPhrases(event.items) })]
    case 'followups':
      return [stepEvent('chat.followups', 'followups', 'completed', event, { items: sources.linkPhrases(event.items) })]
    case 'thinking': // the texts of this kind and of the next two kinds were already sent as deltas
    case 'notes':
    case 'tool.code':
    case 'header': // the chat format has no event for this kind and for the following kinds
    case 'attachment':
    case 'notice':
    case 'message':
    case 'summary':
    case 'sources.found':
    case 'source.removed':
    case 'history':
      return []
    default:
      return event satisfies never
  }
}

/** The timestamp of an envelope if its change has no time. */
const unknownTime = new Date(0).toISOString()

interface Origin {
  readonly turnId: string | null
  readonly ts: string
}

const inConversation = ({ ts }: { readonly ts: string }): Origin => ({ turnId: null, ts })

function chatEvent(
  type: string,
  [step, status]: readonly [string, ChatStatus],
  { turnId, ts }: Origin,
  data: ChatEvent['data'],
  route: ChatRoute,
): ChatEvent {
  return { type, event: { agent: 'react', step, status }, turnId, timestamp: ts, data, route }
}

const stepEvent = (type: string, step: string, status: ChatStatus, origin: Origin, data: ChatEvent['data']) =>
  chatEvent(type, [step, status], origin, data, 'chat_step')

const serviceEvent = (type: string, status: ChatStatus, origin: Origin, data: ChatEvent['data']) =>
  chatEvent(type, [type, status], origin, data, 'chat_service')

const statusEvent = (state: 'in_progress' | 'waiting' | 'idle' | 'error', turnId: string, ts: string, more: ChatEvent['data'] = {}) =>
  chatEvent(
    'conv.status',
    ['conversation', state === 'error' ? 'error' : 'update'],
    { turnId, ts },
    { state, updated_at: ts, current_turn_id: state === 'in_progress' || state === 'waiting' ? turnId : null, ...more },
    'conv_status',
  )

function turnEndedEvents(event: TurnEnded, sources: KnownSources): readonly ChatEvent[] {
  const { turnId, ts, exitReason, failed, sourcesUsed } = event
  const data = { exit_reason: exitReason, citation_count: sources.citedPages(sourcesUsed).length }
  return [
    stepEvent('chat.conversation.turn.completed', 'turn', failed ? 'error' : 'completed', event, data),
    ...(failed ? [chatEvent('chat.error', ['turn', 'error'], event, { error: turnFailedText, error_type: exitReason }, 'chat_error')] : []),
    statusEvent(failed ? 'error' : 'idle', turnId, ts, { completion: exitReason === 'steer' ? 'interrupted' : 'completed' }),
  ]
}

const turnFailedText = 'The turn could not be finished. What was done so far is kept.'

function responseEvents(event: ResponseEvent): readonly ChatEvent[] {
  const { iteration, role, finishReason, usage, model = null } = event
  const decision =
    role === undefined
      ? [stepEvent('solver.react.decision', `react(${iteration}).decision`, 'completed', event, { finish_reason: finishReason })]
      : []
  const billing = usage ? [serviceEvent('accounting.usage', 'completed', event, { role: role ?? 'decision', model, usage })] : []
  return [...decision, ...billing]
}

function citation({ content: _content, base64: _base64, ...fields }: CitedPage): object {
  return { ...fields, used: true }
}

function fileEvent(event: BlockEventOf<'file'>): ChatEvent {
  const { filename, size = null, rn, path } = event.file
  const item = { filename, mime: event.mime ?? null, size, rn, logical_path: path, ts: event.ts }
  return stepEvent('chat.files', 'files', 'completed', event, { count: 1, items: [item] })
}

function completeEvent(event: BlockEventOf<'answer'>, entry: readonly VisibleEvent[], sources: KnownSources): ChatEvent {
  const followups = entry.find(({ kind }) => kind === 'followups')
  const earlier = entry.flatMap((each) => (each.kind === 'answer' && each.state === 'superseded' ? [each] : []))
  const data = {
    final_answer: sources.linkCitations(event.text),
    ...(earlier.length > 0 && { earlier_answers: earlier.map(({ text }) => sources.linkCitations(text)) }),
    sources_used: event.sourcesUsed,
    ...(followups?.kind === 'followups' && { followups: sources.linkPhrases(followups.items) }),
    ...(event.truncated && { truncated: true }),
    ...(event.stopped && { stopped: true }),
    ...(event.usage && { usage: event.usage }),
  }
  return chatEvent('chat.complete', ['turn', 'completed'], event, data, 'chat_complete')
}
