import { randomBytes } from 'node:crypto'
import { deletionView } from '../agent/archive/administration.ts'
import type { Archive, ConversationInfo } from '../agent/archive/archive.ts'
import { parkedList } from '../agent/archive/parked-list.ts'
import { turnResultView } from '../agent/archive/stored-result.ts'
import type { Waiting } from '../agent/waiting.ts'
import type { Client } from '../client/client.ts'
import { RequestRefused } from '../client/request.ts'
import type { DeletionView } from '../core/api/administration.ts'
import type { ConversationList, ConversationSummary, FileSummary, ParkedView } from '../core/api/conversation.ts'
import { type EffectsView, effectsView, type PromptView } from '../core/api/report.ts'
import { type ScheduleBody, type ScheduledView, type ScheduleView, scheduleView } from '../core/api/schedule.ts'
import type { TurnResultView } from '../core/api/turn-result.ts'
import type { WaitList, WaitView } from '../core/api/waiting.ts'
import { Failure } from '../core/failure.ts'
import { localScope, type UserOrTenant } from '../core/scope.ts'
import type { Bundle } from '../core/timeline/bundle.ts'
import type { TimelinePayload } from '../core/timeline/payload.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import { fileSummaries } from '../core/view/file-summaries.ts'

/** The stored conversations of a local data folder or of a server. */
export interface ConversationClient {
  /** Lists conversations, most recently active first. `more` says whether there are more than `limit` conversations. */
  list(query: { readonly limit: number; readonly search?: string }): Promise<{
    readonly conversations: readonly ConversationSummary[]
    readonly more: boolean
  }>
  get(id: string): Promise<ConversationSummary>
  rename(id: string, title: string): Promise<void>
  delete(id: string): Promise<void>
  fork(id: string, options: { readonly as?: string; readonly atTurn?: string }): Promise<ConversationSummary>
  exportBundle(id: string): Promise<Bundle>
  importBundle(bundle: Bundle, as?: string): Promise<ConversationSummary>
  timeline(id: string): Promise<TimelinePayload>
  turnLog(id: string, turnId: string): Promise<TurnLog>
  turnResult(id: string, turnId: string): Promise<TurnResultView>
  /** The prompt of one round, as the model read it. */
  prompt(id: string, turnId: string, iteration: number): Promise<PromptView>
  /** The calls of tools that may have changed something. */
  effects(id: string): Promise<EffectsView>
  /** The files that users attached, and the files that the agent made for users. */
  files(id: string): Promise<readonly FileSummary[]>
  readFile(file: FileSummary): Promise<Uint8Array>
  /** The waits of the turns of all conversations, or of one conversation. */
  waiting(conversationId?: string): Promise<readonly WaitView[]>
  /** Sends a message at a later time. */
  schedule(conversationId: string, schedule: ScheduleBody): Promise<ScheduledView>
  /** The scheduled messages of all conversations, or of one conversation. */
  schedules(conversationId?: string): Promise<readonly ScheduleView[]>
  unschedule(conversationId: string, scheduleId: string): Promise<void>
  /** Conversations whose turns failed too often, of all users. */
  parked(): Promise<readonly ParkedView[]>
  /** Lets a conversation run again after its turns failed. Returns false if its turns have not failed. */
  retry(id: string): Promise<boolean>
  /** Deletes all data of a user or tenant. On a server, this is possible only within the tenant of the token. */
  deleteOwner(owner: UserOrTenant): Promise<DeletionView>
  close(): Promise<void>
}

/** Conversations of a data folder on this machine. */
export function localConversationClient(archive: Archive, close: () => Promise<void>): ConversationClient {
  return {
    list: (query) =>
      listPages(query, async (page) => {
        const { conversations, next } = await archive.list({ ...page, plain: true })
        return { conversations: conversations.map(summaryOf), ...(next !== undefined && { next }) }
      }),
    get: async (id) => summaryOf(await archive.head(id)),
    async rename(id, title) {
      await archive.rename(id, title)
    },
    delete: (id) => archive.delete(id),
    fork: async (id, { as = newConversationId(), atTurn }) => summaryOf(await archive.fork(id, as, atTurn)),
    exportBundle: (id) => archive.exportBundle(id),
    importBundle: async (bundle, as) => summaryOf(await archive.importBundle(bundle, as)),
    timeline: (id) => archive.timeline(id),
    turnLog: (id, turnId) => archive.turnLog(id, turnId),
    turnResult: async (id, turnId) => turnResultView(await archive.turnResult(id, turnId)),
    prompt: (id, turnId, iteration) => archive.prompt(id, turnId, iteration),
    effects: async (id) => effectsView(await archive.effects(id)),
    files: async (id) => fileSummaries((await archive.timeline(id)).blocks),
    async readFile({ rn, filename }) {
      const file = await archive.file(rn, localScope)
      if (!file) throw new Failure('blob.missing', `the bytes of ${filename} are not stored`)
      return file.read()
    },
    waiting: (conversationId) =>
      allPages(async (cursor) => {
        const { waits, next } = await localWaits(archive, conversationId, cursor)
        return { items: waits, next }
      }),
    async schedule(id, { text, schedule_id, at, every, notification }) {
      const { status, scheduleId, nextAt } = await archive.schedule(id, text, {
        ...(at !== undefined && { at }),
        ...(every !== undefined && { every }),
        ...(schedule_id !== undefined && { scheduleId: schedule_id }),
        ...(notification && { notification: {} }),
      })
      return { status, schedule_id: scheduleId, next_at: nextAt }
    },
    schedules: (conversationId) =>
      allPages(async (cursor) => {
        const which = conversationId === undefined ? { plain: true as const } : { conversationId }
        const { schedules, next } = await archive.schedules({ ...which, ...(cursor !== undefined && { cursor }) })
        return { items: schedules.map(scheduleView), next }
      }),
    async unschedule(id, scheduleId) {
      if (!(await archive.unschedule(id, scheduleId)))
        throw new Failure('schedule.missing', `there is no schedule ${scheduleId} in ${id}: daybook schedule list shows all`)
    },
    parked: () =>
      allPages(async (cursor) => {
        const { parked, next } = await parkedList(archive, cursor)
        return { items: parked, next }
      }),
    async retry(id) {
      await archive.head(id)
      return archive.work.retry(id)
    },
    deleteOwner: async (owner) => deletionView(await archive.deleteOwner(owner)),
    close,
  }
}

/** Conversations of a server. */
export function remoteConversationClient(client: Client): ConversationClient {
  const { conversations } = client
  const { import: importBundle } = conversations
  return {
    list: (query) => listPages(query, conversations.list),
    get: (id) => conversations.get(id),
    async rename(id, title) {
      await conversations.change(id, { title })
    },
    delete: (id) => conversations.delete(id),
    fork: (id, { as, atTurn }) =>
      conversations.fork(id, { ...(as !== undefined && { id: as }), ...(atTurn !== undefined && { at_turn: atTurn }) }),
    exportBundle: (id) => conversations.export(id),
    importBundle: (bundle, as = bundle.conversation_id) => importBundle(bundle, as),
    timeline: (id) => client.timeline(id),
    turnLog: (id, turnId) => client.turnLog(id, turnId),
    turnResult: (id, turnId) => client.turnResult(id, turnId),
    prompt: (id, turnId, iteration) => client.prompt(id, turnId, iteration),
    effects: (id) => client.effects(id),
    files: async (id) => (await client.files(id)).files,
    readFile: async ({ rn }) => new Uint8Array(await (await client.resource(rn)).arrayBuffer()),
    waiting: (conversationId) =>
      allPages(async (cursor) => {
        const { waits, next } = await client.waiting(pageOf(conversationId, cursor))
        return { items: waits, next }
      }),
    schedule: (id, schedule) => client.schedule(id, schedule),
    schedules: (conversationId) =>
      allPages(async (cursor) => {
        const { schedules, next } = await client.schedules(pageOf(conversationId, cursor))
        return { items: schedules, next }
      }),
    unschedule: (id, scheduleId) => client.unschedule(id, scheduleId),
    parked: () =>
      allPages(async (cursor) => {
        const { parked, next } = await client.parked(cursor === undefined ? {} : { cursor })
        return { items: parked, next }
      }),
    retry: async (id) => (await client.retry(id)).retried,
    deleteOwner: (owner) => client.deleteOwner(owner),
    close: async () => {},
  }
}

async function localWaits(archive: Archive, conversationId: string | undefined, cursor: string | undefined): Promise<WaitList> {
  const query = conversationId === undefined ? { plain: true as const, ...(cursor !== undefined && { cursor }) } : { conversationId }
  const { waits, next } = await archive.waiting(query)
  return { waits: waits.map(waitView), ...(next !== undefined && { next }) }
}

const waitView = ({
  conversationId,
  turnId,
  waitId,
  kind,
  callId,
  toolId,
  params,
  question,
  expiresAt,
  approver,
  childId,
  schema,
}: Waiting): WaitView => ({
  conversation_id: conversationId,
  turn_id: turnId,
  wait_id: waitId,
  kind,
  ...(callId !== undefined && { call_id: callId }),
  ...(toolId !== undefined && { tool_id: toolId }),
  ...(params && { params: { ...params } }),
  ...(question !== undefined && { question }),
  ...(expiresAt !== undefined && { expires_at: expiresAt }),
  ...(approver && { approver }),
  ...(schema && { schema: { ...schema } }),
  ...(childId !== undefined && { child_id: childId }),
})

const pageOf = (conversationId: string | undefined, cursor: string | undefined) => ({
  ...(conversationId !== undefined && { conversationId }),
  ...(cursor !== undefined && { cursor }),
})

/** Reads all pages of a list. */
export async function allPages<Item>(
  read: (cursor: string | undefined) => Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }>,
): Promise<readonly Item[]> {
  const found: Item[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await read(cursor)
    found.push(...items)
    cursor = next
  } while (cursor !== undefined)
  return found
}

export const newConversationId = () => `c_${randomBytes(6).toString('hex')}`

/** The timeline of a conversation. Undefined before the first message, because this message creates the conversation. */
export async function timelineIfExists(client: ConversationClient, id: string): Promise<TimelinePayload | undefined> {
  try {
    return await client.timeline(id)
  } catch (error) {
    if ((error instanceof Failure || error instanceof RequestRefused) && error.code === 'conversation.missing') return undefined
    throw error
  }
}

interface Page {
  readonly limit: number
  readonly search?: string
  readonly cursor?: string
}

const maxPageSize = 100

async function listPages({ limit, search }: Omit<Page, 'cursor'>, read: (page: Page) => Promise<ConversationList>) {
  const conversations: ConversationSummary[] = []
  let cursor: string | undefined
  do {
    const page = await read({
      limit: Math.min(limit - conversations.length, maxPageSize),
      ...(search !== undefined && { search }),
      ...(cursor !== undefined && { cursor }),
    })
    conversations.push(...page.conversations)
    cursor = page.next
  } while (cursor !== undefined && conversations.length < limit)
  return { conversations, more: cursor !== undefined }
}

const summaryOf = (head: ConversationInfo): ConversationSummary => ({
  id: head.conversationId,
  title: head.title,
  started_at: head.startedAt,
  last_activity_at: head.lastActivityAt,
  last_seq: head.lastSeq,
  open_turn: head.openTurn,
  ...(head.parked && { parked: true as const }),
})
