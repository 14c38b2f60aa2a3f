import type { LaneEvent, StatusEvent, TurnEvent } from '../../core/event.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { type ChatContext, type ChatEnvelope, type ChatEvent, chatEventsOf, toEnvelope } from './chat-events.ts'
import type { Format, Frame } from './format.ts'
import { publicChange } from './public-change.ts'

export interface ChatOptions {
  readonly context: ChatContext
  /** The pool as it is when the stream begins; what is merged later is heard. */
  readonly sources: Iterable<SourceRow>
  readonly now: () => string
  /** What may leave. When it throws, only answers do. */
  readonly allow?: (envelope: ChatEnvelope) => boolean
}

/** The envelope and the types of spec/loop.md §9: a pure mapping of entries and of what is live. */
export function createChatFormat({ context, sources, now, allow = () => true }: ChatOptions): Format {
  const pool = new Map([...sources].map((row) => [row.sid, row]))

  const mayLeave = (said: ChatEnvelope) => {
    try {
      return allow(said)
    } catch {
      return said.route === 'chat_complete' || said.delta?.marker === 'answer' // a broken filter hides everything but answers
    }
  }
  const framed = (all: readonly ChatEvent[], id?: number): readonly Frame[] => {
    const frames = all.map((said) => toEnvelope(context, said)).filter(mayLeave)
    return frames.map((data, index) => {
      const last = index === frames.length - 1
      return { event: data.route, data, ...(last && id !== undefined && { id }) }
    })
  }
  const bare = (event: string, data: object): readonly Frame[] => [{ event, data }]

  return {
    openingFrames: ({ conversationId, lastSeq, ts }) =>
      bare('ready', {
        timestamp: ts,
        session_id: conversationId,
        last_seq: lastSeq,
        user_type: 'registered',
        tenant: context.scope.tenant,
        project: context.scope.project,
      }),
    framesOf(event: TurnEvent) {
      if (event.type === 'lane.delta') return framed([deltaEvent(event, now())])
      if (event.type === 'status') return framed([statusChatEvent(event, now())])
      const change = publicChange(event.change)
      if (change.type === 'sources.merged') for (const row of change.rows) pool.set(row.sid, row)
      return framed(chatEventsOf(change, pool), event.seq)
    },
    closingFrames(why) {
      if (why === 'resync') return bare('resync', {})
      return why === 'shutdown' ? bare('server_shutdown', { reason: 'draining' }) : []
    },
  }
}

function deltaEvent({ turn_id: turnId, iteration, attempt, delta: piece }: LaneEvent, timestamp: string): ChatEvent {
  const { marker, artifactName, format, index, text, completed, aborted, extra } = piece
  const agent = marker === 'thinking' ? `react.decision (${iteration})` : 'react'
  return {
    type: 'chat.delta',
    turnId,
    timestamp,
    route: 'chat_delta',
    event: { agent, step: 'stream', status: completed ? 'completed' : 'running' },
    data: {},
    delta: { text, marker, index, completed },
    extra: { format, attempt, ...(artifactName !== undefined && { artifact_name: artifactName }), ...(aborted && { aborted }), ...extra },
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
