import type { LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { type ChatContext, type ChatEnvelope, type ChatEvent, chatEventsOf, envelopeBody, envelopeHead } from './chat-events.ts'
import { type Format, type Frame, numberFrames, shutdownRetryMs } from './format.ts'
import { type ConvertedEvent, createSharedChat, type SharedChat } from './shared-chat.ts'

interface ChatOptions {
  readonly context: ChatContext
  /** The pool of sources when the stream begins. Sources that are added later arrive with the events. */
  readonly sources: Iterable<SourceRow>
  readonly now: () => string
  /** The known sources and the converted events. All chat streams of the conversation share them. */
  readonly shared?: SharedChat
  /**
   * Decides whether an envelope is sent. Without this function, every envelope is sent. If the function throws, the envelope is sent only
   * if it contains an answer or a piece of an answer.
   */
  readonly allow?: (envelope: ChatEnvelope) => boolean
}

/** The default format. Each event is sent as an envelope: a JSON object with the event types and routes that chat clients know. */
export function createChatFormat({ context, sources, now, allow, shared = createSharedChat() }: ChatOptions): Format {
  const { known, converted } = shared
  known.add(sources)

  const isAllowed = (frame: Frame) => {
    if (!allow) return true
    const envelope = { ...frame.own, ...(frame.data as object) } as ChatEnvelope
    try {
      return allow(envelope)
    } catch {
      return envelope.route === 'chat_complete' || envelope.delta?.marker === 'answer'
    }
  }
  function chatEvents(event: TurnEvent): readonly ChatEvent[] {
    if (event.type === 'lane.delta') return [deltaEvent(event, now())]
    return event.type === 'status' ? [statusChatEvent(event, now())] : chatEventsOf(event.change, known)
  }
  function convert(event: TurnEvent): readonly ConvertedEvent[] {
    const before = converted.get(event)
    if (before) return before
    const events = chatEvents(event).map((each) => ({ turnId: each.turnId, body: envelopeBody(each) }))
    converted.set(event, events)
    return events
  }
  const controlFrame = (event: string, data: object): readonly Frame[] => [{ event, data }]

  return {
    openingFrames: ({ conversationId, lastSeq, ts }) =>
      controlFrame('ready', {
        timestamp: ts,
        session_id: conversationId,
        last_seq: lastSeq,
        user_type: 'registered',
        tenant: context.scope.tenant,
        project: context.scope.project,
      }),
    framesOf(event: TurnEvent) {
      if (event.type === 'entry' && event.change.type === 'sources.merged') known.add(event.change.rows)
      const frames = convert(event).map(
        ({ turnId, body }): Frame => ({ event: body.route, data: body, own: envelopeHead(context, turnId) }),
      )
      const sent = frames.filter(isAllowed)
      return event.type === 'entry' ? numberFrames(sent, event.seq) : sent
    },
    closingFrames(reason) {
      if (reason === 'resync') return controlFrame('resync', {})
      return reason === 'shutdown' ? [{ event: 'server_shutdown', data: { reason: 'draining' }, retry: shutdownRetryMs }] : []
    },
  }
}

function deltaEvent({ turn_id: turnId, iteration, attempt, delta }: LaneEvent, timestamp: string): ChatEvent {
  const { marker, artifact_name, format, index, text, completed, aborted, undecided, as, extra } = delta
  const agent = marker === 'thinking' ? `react.decision (${iteration})` : 'react'
  return {
    type: 'chat.delta',
    turnId,
    timestamp,
    route: 'chat_delta',
    event: { agent, step: 'stream', status: completed ? 'completed' : 'running' },
    data: {},
    delta: { text, marker, index, completed },
    extra: {
      format,
      attempt,
      ...(artifact_name !== undefined && { artifact_name }),
      ...(aborted && { aborted }),
      ...(undecided && { undecided }),
      ...(as && { as }),
      ...extra,
    },
  }
}

function statusChatEvent({ turn_id: turnId, iteration, status, tool_id, call_id, text, error }: StatusEvent, timestamp: string): ChatEvent {
  const compacting = status === 'compacting'
  return {
    type: compacting ? 'chat.compaction' : 'chat.step',
    turnId,
    timestamp,
    route: compacting ? 'chat_compaction' : 'chat_step',
    event: { agent: 'react', step: `react(${iteration}).${status}`, status: status === 'tool.ended' ? 'completed' : 'started' },
    data: {
      iteration,
      status,
      ...(tool_id !== undefined && { tool_id }),
      ...(call_id !== undefined && { call_id }),
      ...(text !== undefined && { text }),
      ...(error && { error: error.message, error_type: error.kind }),
    },
  }
}
