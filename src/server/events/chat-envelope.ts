import type { Scope } from '../../core/scope.ts'

/** How the events of a conversation are told to chat clients (spec/loop.md §9.1). */
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

export type ChatStatus = 'started' | 'running' | 'completed' | 'error' | 'skipped' | 'update'
export type ChatRoute =
  | 'chat_start'
  | 'chat_step'
  | 'chat_delta'
  | 'chat_compaction'
  | 'chat_complete'
  | 'chat_error'
  | 'chat_service'
  | 'conv_status'

/** Who is told, in which conversation. */
export interface ChatContext {
  readonly requestId: string
  readonly conversationId: string
  readonly scope: Scope
}

/** What an event adds to the envelope that all of them share. */
export type ChatEvent = Pick<ChatEnvelope, 'type' | 'event' | 'data' | 'route'> &
  Partial<Pick<ChatEnvelope, 'delta' | 'extra'>> & { readonly turnId: string | null; readonly timestamp: string }

export function toEnvelope({ requestId, conversationId, scope }: ChatContext, { turnId, timestamp, ...said }: ChatEvent): ChatEnvelope {
  const { type, event, data, delta, extra, route } = said
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
