import type {
  ConversationChange,
  ConversationList,
  ConversationQuery,
  ConversationSummary,
  FileList,
  ForkRequest,
  NewConversation,
} from '../core/api/conversation.ts'
import type { CostView, PromptView } from '../core/api/report.ts'
import type { FeedbackBody, StopAccepted, TurnAccepted, TurnSubmission } from '../core/api/turn.ts'
import type { TurnEvent } from '../core/event.ts'
import type { SourceRow } from '../core/sources/source.ts'
import type { Bundle } from '../core/timeline/bundle.ts'
import type { TimelinePayload } from '../core/timeline/payload.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import { type FollowOptions, follow } from './follow.ts'
import { type ClientOptions, createRequest, type RequestOptions } from './request.ts'

export interface Submission extends TurnSubmission {
  /** Sent as they are, without base64. */
  readonly files?: readonly { readonly name: string; readonly content: Blob }[]
  /** The sender's own name for it: sent again under it, nothing happens twice. */
  readonly idempotencyKey?: string
}

/** A server, as functions. Works wherever there is `fetch`. */
export type Client = ReturnType<typeof createClient>

export function createClient(options: ClientOptions) {
  const request = createRequest(options)
  const read = async <T>(path: string, how?: RequestOptions) => (await (await request(path, how)).json()) as T // the server's own types
  const within = (id: string, rest = '') => `/v1/conversations/${encodeURIComponent(id)}${rest}`

  return {
    conversations: {
      create: (made: NewConversation = {}) => read<ConversationSummary>('/v1/conversations', { method: 'POST', json: made }),
      list: (query: ConversationQuery = {}) =>
        read<ConversationList>('/v1/conversations', { query: { ...query } as Record<string, string> }),
      get: (id: string) => read<ConversationSummary>(within(id)),
      change: (id: string, change: ConversationChange) => read<ConversationSummary>(within(id), { method: 'PATCH', json: change }),
      delete: async (id: string) => void (await request(within(id), { method: 'DELETE' })),
      fork: (id: string, fork: ForkRequest = {}) => read<ConversationSummary>(within(id, '/fork'), { method: 'POST', json: fork }),
      export: (id: string) => read<Bundle>(within(id, '/export')),
      import: (bundle: unknown, as?: string) =>
        read<ConversationSummary>('/v1/conversations/import', { method: 'POST', json: bundle, query: { as } }),
    },
    submit(id: string, { files = [], idempotencyKey, ...body }: Submission): Promise<TurnAccepted> {
      const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
      if (files.length === 0) return read(within(id, '/turns'), { method: 'POST', json: body, headers })
      return read(within(id, '/turns'), { method: 'POST', form: formOf(body, files), headers })
    },
    stop: (id: string) => read<StopAccepted>(within(id, '/stop'), { method: 'POST' }),
    feedback: async (id: string, body: FeedbackBody) => void (await request(within(id, '/feedback'), { method: 'POST', json: body })),
    follow: (id: string, how?: FollowOptions): AsyncGenerator<TurnEvent> => follow(request, within(id, '/events'), how),
    timeline: (id: string) => read<TimelinePayload>(within(id, '/timeline')),
    turnLog: (id: string, turnId: string) => read<TurnLog>(within(id, `/turns/${encodeURIComponent(turnId)}/log`)),
    sources: (id: string) => read<{ readonly sources: readonly SourceRow[] }>(within(id, '/sources')),
    files: (id: string) => read<FileList>(within(id, '/files')),
    prompt: (id: string, turnId: string, iteration: number) =>
      read<PromptView>(within(id, `/rounds/${encodeURIComponent(turnId)}/${iteration}/prompt`)),
    ledger: (id: string) => read<CostView>(within(id, '/ledger')),
    /** The bytes of a file, by its resource name. */
    resource: async (rn: string) => (await request(`/v1/resources/${encodeURIComponent(rn)}`)).blob(),
    health: () => read<{ readonly status: string }>('/health'),
    /** Whether new requests are welcome. */
    ready: () => read<{ readonly status: string }>('/ready'),
    /** As Prometheus reads them. */
    metrics: async () => (await request('/metrics')).text(),
    openapi: () => read<unknown>('/v1/openapi.json'),
  }
}

function formOf({ text = '', mode, attachments = [] }: TurnSubmission, files: NonNullable<Submission['files']>): FormData {
  if (attachments.length > 0) throw new TypeError('give attachments either as files or as base64, not both')
  const form = new FormData()
  form.set('text', text)
  if (mode !== undefined) form.set('mode', mode)
  for (const { name, content } of files) form.append('files', content, name)
  return form
}
