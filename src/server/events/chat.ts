import type { LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { createKnownSources } from '../../core/view/known-sources.ts'
import { type ChatContext, type ChatEnvelope, type ChatEvent, chatEventsOf, toEnvelope } from './chat-events.ts'
import { type Format, type Frame, numberFrames } from './format.ts'

interface ChatOptions {
  readonly context: ChatContext
  /** The pool of sources when the stream begins. Sources that are added later arrive with the events. */
  readonly sources: Iterable<SourceRow>
  readonly now: () => string
  /** Whether an envelope may be sent. If this function throws, the envelope is sent only if it is a part of an answer. */
  readonly allow?: (envelope: ChatEnvelope) => boolean
}

/** The default format. Each event is sent as an envelope: a JSON object with the event types and routes that chat clients know. */
export function createChatFormat({ context, sources, now, allow = () => true }: ChatOptions): Format {
  const known = createKnownSources(sources)

  const isAllowed = (envelope: ChatEnvelope) => {
    try {
      return allow(envelope)
    } catch {
      return envelope.route === 'chat_complete' || envelope.delta?.marker === 'answer'
    }
  }
  const toFrames = (events: readonly ChatEvent[], id?: number): readonly Frame[] => {
    const envelopes = events.map((event) => toEnvelope(context, event)).filter(isAllowed)
    const frames = envelopes.map((data): Frame => ({ event: data.route, data }))
    return id === undefined ? frames : numberFrames(frames, id)
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
      if (event.type === 'lane.delta') return toFrames([deltaEvent(event, now())])
      if (event.type === 'status') return toFrames([statusChatEvent(event, now())])
      if (event.change.type === 'sources.merged') known.add(event.change.rows)
      return toFrames(chatEventsOf(event.change, known), event.seq)
    },
    closingFrames(reason) {
      if (reason === 'resync') return controlFrame('resync', {})
      return reason === 'shutdown' ? controlFrame('server_shutdown', { reason: 'draining' }) : []
    },
  }
}

function deltaEvent({ turn_id: turnId, iteration, attempt, delta }: LaneEvent, timestamp: string): ChatEvent {
  const { marker, artifact_name, format, index, text, completed, aborted, extra } = delta
  const agent = marker === 'thinking' ? `react.decision (${iteration})` : 'react'
  return {
    type: 'chat.delta',
    turnId,
    timestamp,
    route: 'chat_delta',
    event: { agent, step: 'stream', status: completed ? 'completed' : 'running' },
    data: {},
    delta: { text, marker, index, completed },
    extra: { format, attempt, ...(artifact_name !== undefined && { artifact_name }), ...(aborted && { aborted }), ...extra },
  }
}

function statusChatEvent({ turn_id: turnId, iteration, status, tool_id, call_id, error }: StatusEvent, timestamp: string): ChatEvent {
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
      ...(error && { error: error.message, error_type: error.kind }),
    },
  }
}
