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

/** A message to a conversation. */
export interface Submission extends TurnSubmission {
  /** A message with files is sent as a form, so that their bytes need no base64. */
  readonly files?: readonly { readonly name: string; readonly content: Blob }[]
  /** Makes retries safe: a message with the same key is accepted only once. */
  readonly idempotencyKey?: string
}

export type Client = ReturnType<typeof createClient>

/** A client of a Daybook server, wherever there is `fetch`. Functions reject with `RequestRefused` when the server answers with an error. */
export function createClient(options: ClientOptions) {
  const request = createRequest(options)
  const read = async <T>(path: string, how?: RequestOptions) => (await (await request(path, how)).json()) as T // the server has the same types
  const pathOf = (id: string, rest = '') => `/v1/conversations/${encodeURIComponent(id)}${rest}`

  return {
    conversations: {
      create: (conversation: NewConversation = {}) =>
        read<ConversationSummary>('/v1/conversations', { method: 'POST', json: conversation }),
      list: (query: ConversationQuery = {}) =>
        read<ConversationList>('/v1/conversations', { query: { ...query } as Record<string, string> }),
      get: (id: string) => read<ConversationSummary>(pathOf(id)),
      change: (id: string, change: ConversationChange) => read<ConversationSummary>(pathOf(id), { method: 'PATCH', json: change }),
      delete: async (id: string) => void (await request(pathOf(id), { method: 'DELETE' })),
      fork: (id: string, fork: ForkRequest = {}) => read<ConversationSummary>(pathOf(id, '/fork'), { method: 'POST', json: fork }),
      export: (id: string) => read<Bundle>(pathOf(id, '/export')),
      import: (bundle: unknown, as?: string) =>
        read<ConversationSummary>('/v1/conversations/import', { method: 'POST', json: bundle, query: { as } }),
    },
    submit(id: string, { files = [], idempotencyKey, ...body }: Submission): Promise<TurnAccepted> {
      const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
      if (files.length === 0) return read(pathOf(id, '/turns'), { method: 'POST', json: body, headers })
      return read(pathOf(id, '/turns'), { method: 'POST', form: formOf(body, files), headers })
    },
    stop: (id: string) => read<StopAccepted>(pathOf(id, '/stop'), { method: 'POST' }),
    feedback: async (id: string, body: FeedbackBody) => void (await request(pathOf(id, '/feedback'), { method: 'POST', json: body })),
    follow: (id: string, options?: FollowOptions): AsyncGenerator<TurnEvent> => follow(request, pathOf(id, '/events'), options),
    timeline: (id: string) => read<TimelinePayload>(pathOf(id, '/timeline')),
    turnLog: (id: string, turnId: string) => read<TurnLog>(pathOf(id, `/turns/${encodeURIComponent(turnId)}/log`)),
    sources: (id: string) => read<{ readonly sources: readonly SourceRow[] }>(pathOf(id, '/sources')),
    files: (id: string) => read<FileList>(pathOf(id, '/files')),
    prompt: (id: string, turnId: string, iteration: number) =>
      read<PromptView>(pathOf(id, `/rounds/${encodeURIComponent(turnId)}/${iteration}/prompt`)),
    ledger: (id: string) => read<CostView>(pathOf(id, '/ledger')),
    /** The bytes of a file, by its resource name. */
    resource: async (rn: string) => (await request(`/v1/resources/${encodeURIComponent(rn)}`)).blob(),
    health: () => read<{ readonly status: string }>('/health'),
    /** Rejects while the server shuts down or its store does not work. */
    ready: () => read<{ readonly status: string }>('/ready'),
    /** In the text format of Prometheus. */
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
