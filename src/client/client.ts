import type { DeletionView } from '../core/api/administration.ts'
import type { BudgetChange, BudgetList, BudgetView } from '../core/api/budget.ts'
import type {
  ConversationChange,
  ConversationList,
  ConversationQuery,
  ConversationSummary,
  FileList,
  ForkRequest,
  NewConversation,
  ParkedList,
  RetryView,
} from '../core/api/conversation.ts'
import type { DoctorView, InfoView } from '../core/api/info.ts'
import type { ReplayView, RoundView } from '../core/api/inspection.ts'
import type { CostView, EffectsView, PromptView } from '../core/api/report.ts'
import type { ScheduleBody, ScheduledView, ScheduleList } from '../core/api/schedule.ts'
import type { SessionView, SignInBody } from '../core/api/session.ts'
import type { ChangedMessageView, FeedbackBody, StopAccepted, TurnAccepted, TurnOptionsBody, WithdrawalView } from '../core/api/turn.ts'
import type { TurnResultView } from '../core/api/turn-result.ts'
import type { CompletionBody, DecisionBody, RecordedView, WaitList } from '../core/api/waiting.ts'
import type { TurnEvent } from '../core/event.ts'
import { checkOptions, group } from '../core/options.ts'
import type { UserOrTenant } from '../core/scope.ts'
import type { SourceRow } from '../core/sources/source.ts'
import type { Bundle } from '../core/timeline/bundle.ts'
import type { Change } from '../core/timeline/change.ts'
import type { TimelinePayload } from '../core/timeline/payload.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import { type FollowOptions, follow } from './follow.ts'
import { clientRules, type FeedbackOptions, feedbackRules, followRules, type SendOptions, sendRules } from './options.ts'
import { type ClientOptions, createRequest, type RequestOptions, RequestRefused, repeatWhileOverloaded } from './request.ts'
import { untilClosed } from './until-closed.ts'

/** The client that `createClient` returns. */
export type Client = ReturnType<typeof createClient>

/**
 * Creates a client of a Daybook server, for every platform that has `fetch`. Its functions reject with `RequestRefused` when the server
 * responds with an error, and with `InvalidOption` when an option is wrong or does not exist.
 */
export function createClient(options: ClientOptions) {
  checkOptions('createClient', options, group('an object with `baseUrl`', clientRules))
  const request = createRequest(options)
  // The response is not validated, because the routes of the server are compiled with the same types.
  const read = async <T>(path: string, how?: RequestOptions) => (await (await request(path, how)).json()) as T
  const pathOf = (conversationId: string, rest = '') => `/v1/conversations/${encodeURIComponent(conversationId)}${rest}`

  return {
    conversations: {
      create: (conversation: NewConversation = {}) =>
        read<ConversationSummary>('/v1/conversations', { method: 'POST', json: conversation }),
      list: (query: ConversationQuery = {}) =>
        read<ConversationList>('/v1/conversations', { query: { ...query } as Record<string, string> }),
      get: (conversationId: string) => read<ConversationSummary>(pathOf(conversationId)),
      change: (conversationId: string, change: ConversationChange) =>
        read<ConversationSummary>(pathOf(conversationId), { method: 'PATCH', json: change }),
      delete: async (conversationId: string) => void (await request(pathOf(conversationId), { method: 'DELETE' })),
      fork: (conversationId: string, fork: ForkRequest = {}) =>
        read<ConversationSummary>(pathOf(conversationId, '/fork'), { method: 'POST', json: fork }),
      export: (conversationId: string) => read<Bundle>(pathOf(conversationId, '/export')),
      import: (bundle: unknown, as?: string) =>
        read<ConversationSummary>('/v1/conversations/import', { method: 'POST', json: bundle, query: { as } }),
    },
    /**
     * Sends a message. Resolves when the message is stored. The answer arrives as events of `follow`. While the server has too much to do,
     * the message is sent again, for at most two minutes.
     */
    async send(conversationId: string, text: string, options: SendOptions = {}): Promise<TurnAccepted> {
      checkOptions('client.send', options, group('an object with options', sendRules))
      const { files = [], mode = 'followup', idempotencyKey, options: ofTurn, create = false } = options
      const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
      const body =
        files.length === 0 ? { json: { text, mode, ...(ofTurn && { options: ofTurn }) } } : { form: formOf(text, mode, files, ofTurn) }
      const send = () =>
        repeatWhileOverloaded(() => read<TurnAccepted>(pathOf(conversationId, '/turns'), { method: 'POST', ...body, headers }))
      if (!create) return send()
      try {
        return await send()
      } catch (error) {
        if (!isRefusedWith(error, 'conversation.missing')) throw error
      }
      try {
        await read('/v1/conversations', { method: 'POST', json: { id: conversationId } satisfies NewConversation })
      } catch (error) {
        if (!isRefusedWith(error, 'conversation.exists')) throw error // another client has created the conversation meanwhile
      }
      return send()
    },
    /**
     * Waits until the turn that answers a message is closed, and returns its result. `eventId` is the `event_id` in the response to the
     * message. It is also the idempotency key of the message. The call changes nothing, so it can be repeated after any failure, and with
     * any server that has the same store. While no server answers, the client asks again, until the signal aborts.
     */
    untilClosed(conversationId: string, eventId: string, options: { readonly signal?: AbortSignal } = {}): Promise<TurnResultView> {
      checkOptions('client.untilClosed', options, group('an object with options', { signal: followRules.signal }))
      return untilClosed(request, pathOf(conversationId, `/messages/${encodeURIComponent(eventId)}/result`), options.signal)
    },
    stop: (conversationId: string) => read<StopAccepted>(pathOf(conversationId, '/stop'), { method: 'POST' }),
    /** Takes back a message that no turn has read. `eventId` is the `event_id` in the response to the message. */
    withdraw: (conversationId: string, eventId: string) =>
      read<WithdrawalView>(pathOf(conversationId, `/messages/${encodeURIComponent(eventId)}`), { method: 'DELETE' }),
    /** Changes the text of a message that no turn has read. The files of the message stay. The changed message has another id. */
    changeMessage: (conversationId: string, eventId: string, text: string, options: { readonly idempotencyKey?: string } = {}) =>
      read<ChangedMessageView>(pathOf(conversationId, `/messages/${encodeURIComponent(eventId)}`), {
        method: 'PATCH',
        json: { text },
        headers: options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey },
      }),
    /** What the turns of all conversations wait for. With `conversationId`, only what the turn of this conversation waits for. */
    waiting: (query: { readonly conversationId?: string; readonly limit?: number; readonly cursor?: string } = {}) => {
      const { conversationId, limit, cursor } = query
      if (conversationId !== undefined) return read<WaitList>(pathOf(conversationId, '/waiting'))
      return read<WaitList>('/v1/waiting', { query: { ...(limit !== undefined && { limit: String(limit) }), cursor } })
    },
    /** The parked conversations. Their turns failed so often that the server does not try them again by itself. For operators. */
    parked: (query: { readonly cursor?: string } = {}) => read<ParkedList>('/v1/parked', { query: { cursor: query.cursor } }),
    /** Makes the server try a conversation again without a pause, if it is parked or its turns failed. */
    retry: (conversationId: string) => read<RetryView>(pathOf(conversationId, '/retry'), { method: 'POST' }),
    /** Deletes all data of a user, or of all users of a tenant, and returns a receipt. For operators of the tenant. */
    deleteOwner: ({ tenant, project, user }: UserOrTenant) => {
      const names = user === undefined ? [tenant] : [tenant, 'projects', project, 'users', user]
      return read<DeletionView>(`/v1/tenants/${names.map(encodeURIComponent).join('/')}`, { method: 'DELETE' })
    },
    /** Approves or refuses a call that waits for an approval. Only the first decision has an effect. */
    decide: (conversationId: string, callId: string, decision: DecisionBody) =>
      read<RecordedView>(pathOf(conversationId, `/calls/${encodeURIComponent(callId)}/decision`), { method: 'POST', json: decision }),
    /** Delivers the late result of a call. For operators. Only the first result has an effect. */
    complete: (conversationId: string, callId: string, completion: CompletionBody) =>
      read<RecordedView>(pathOf(conversationId, `/calls/${encodeURIComponent(callId)}/completion`), { method: 'POST', json: completion }),
    /** Sends a message at a later time, once or repeatedly. The conversation is created if it does not exist. */
    schedule: (conversationId: string, schedule: ScheduleBody) =>
      read<ScheduledView>(pathOf(conversationId, '/schedules'), { method: 'POST', json: schedule }),
    /**
     * The budgets of a conversation. Without `conversationId`, the budgets of the tenant whose names begin with `prefix`. This needs the
     * role `operator`.
     */
    budgets: (
      query: { readonly conversationId?: string; readonly prefix?: string; readonly limit?: number; readonly cursor?: string } = {},
    ) => {
      const { conversationId, prefix, limit, cursor } = query
      if (conversationId !== undefined) return read<BudgetList>(pathOf(conversationId, '/budgets'))
      return read<BudgetList>('/v1/budgets', { query: { prefix, limit: limit?.toString(), cursor } })
    },
    /** Sets the limits of a budget such as `tenant/acme`. Needs the role `operator`. */
    setBudget: (name: string, limits: BudgetChange['limits']) =>
      read<BudgetView>('/v1/budgets', { method: 'PATCH', json: { name, limits } }),
    /** The scheduled messages, the next one first. With `conversationId`, only those of this conversation. */
    schedules: (query: { readonly conversationId?: string; readonly limit?: number; readonly cursor?: string } = {}) => {
      const { conversationId, limit, cursor } = query
      const path = conversationId === undefined ? '/v1/schedules' : pathOf(conversationId, '/schedules')
      return read<ScheduleList>(path, { query: { limit: limit?.toString(), cursor } })
    },
    async unschedule(conversationId: string, scheduleId: string): Promise<void> {
      await request(pathOf(conversationId, `/schedules/${encodeURIComponent(scheduleId)}`), { method: 'DELETE' })
    },
    /** Sends the opinion of the user about a past turn. */
    async feedback(conversationId: string, text: string, options: FeedbackOptions): Promise<void> {
      checkOptions('client.feedback', options, group('an object with `turnId`', feedbackRules))
      const { turnId, ...rest } = options
      await request(pathOf(conversationId, '/feedback'), {
        method: 'POST',
        json: { turn_id: turnId, text, ...rest } satisfies FeedbackBody,
      })
    },
    follow(conversationId: string, options: FollowOptions = {}): AsyncGenerator<TurnEvent> {
      checkOptions('client.follow', options, group('an object with options', followRules))
      return follow(request, pathOf(conversationId, '/events'), options)
    },
    timeline: (conversationId: string) => read<TimelinePayload>(pathOf(conversationId, '/timeline')),
    turnLog: (conversationId: string, turnId: string) => read<TurnLog>(pathOf(conversationId, `/turns/${encodeURIComponent(turnId)}/log`)),
    /** The result of a turn: its answer, files, sources, tokens and times. Operators also get the cost. */
    turnResult: (conversationId: string, turnId: string) =>
      read<TurnResultView>(pathOf(conversationId, `/turns/${encodeURIComponent(turnId)}/result`)),
    sources: (conversationId: string) => read<{ readonly sources: readonly SourceRow[] }>(pathOf(conversationId, '/sources')),
    files: (conversationId: string) => read<FileList>(pathOf(conversationId, '/files')),
    prompt: (conversationId: string, turnId: string, iteration: number) =>
      read<PromptView>(pathOf(conversationId, `/rounds/${encodeURIComponent(turnId)}/${iteration}/prompt`)),
    /** What a round has cost, block by block, and how it used the provider's cache. For operators. */
    round: (conversationId: string, turnId: string, iteration: number) =>
      read<RoundView>(pathOf(conversationId, `/rounds/${encodeURIComponent(turnId)}/${iteration}`)),
    /** A page of the journal: the entries after `after`. For operators. */
    entries: (conversationId: string, page: { readonly after?: number; readonly limit?: number } = {}) =>
      read<JournalPage>(pathOf(conversationId, '/entries'), { query: pageQuery(page) }),
    /** Runs recorded turns again with the current code of the server, and reports the first difference in each turn. For operators. */
    replay: (conversationId: string, turnId?: string) => read<ReplayView>(pathOf(conversationId, '/replay'), { query: { turn: turnId } }),
    /** What the conversation has cost, and how the provider's cache was used. */
    cost: (conversationId: string) => read<CostView>(pathOf(conversationId, '/ledger')),
    /** The calls of tools that may have changed something, and their outcomes. For operators. */
    effects: (conversationId: string) => read<EffectsView>(pathOf(conversationId, '/effects')),
    /** Downloads a file by its resource name. */
    resource: async (rn: string): Promise<Blob> => (await request(`/v1/resources/${encodeURIComponent(rn)}`)).blob(),
    /** Exchanges the code of a sign-in link for a token. Needs no token. */
    signIn: (code: string) => read<SessionView>('/v1/session', { method: 'POST', json: { code } satisfies SignInBody }),
    /** The version of the server, the models that a message can choose, and the limits of attachments. */
    info: () => read<InfoView>('/v1/info'),
    /** The checks of `daybook doctor` on the machine of the server. For operators. */
    doctor: () => read<DoctorView>('/v1/doctor'),
    health: () => read<{ readonly status: string }>('/health'),
    /** Resolves if the server is ready. Rejects if it is shutting down, or if its store does not work. */
    ready: () => read<{ readonly status: string }>('/ready'),
    /** The metrics of the server, in the text format of Prometheus. */
    metrics: async () => (await request('/metrics')).text(),
    openapi: () => read<unknown>('/v1/openapi.json'),
  }
}

/** A page of a journal. `next` is the value of `after` for the next page. The last page has no `next`. */
export interface JournalPage {
  readonly entries: readonly { readonly seq: number; readonly change: Change }[]
  readonly last_seq: number
  readonly next?: number
}

const pageQuery = ({ after, limit }: { readonly after?: number; readonly limit?: number }): Record<string, string | undefined> => ({
  after: after?.toString(),
  limit: limit?.toString(),
})

const isRefusedWith = (error: unknown, code: string) => error instanceof RequestRefused && error.code === code

function formOf(text: string, mode: string, files: NonNullable<SendOptions['files']>, options?: TurnOptionsBody): FormData {
  const form = new FormData()
  form.set('text', text)
  form.set('mode', mode)
  if (options) form.set('options', JSON.stringify(options))
  for (const { name, content } of files) form.append('files', content instanceof Blob ? content : new Blob([toBytes(content)]), name)
  return form
}

/** Bytes as `Blob` takes them. The bytes are copied, because `Blob` does not accept memory that is shared between threads. */
const toBytes = (content: Uint8Array | string): Uint8Array<ArrayBuffer> =>
  typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content)
