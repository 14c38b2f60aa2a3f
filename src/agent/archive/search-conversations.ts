import { setImmediate as nextTask } from 'node:timers/promises'
import { createFairQueue } from '../../core/collections/fair-queue.ts'
import { parseConversationKey, type Scope } from '../../core/scope.ts'
import type { Change } from '../../core/timeline/change.ts'
import { readChange } from '../../core/view/read-change.ts'
import type { VisibleEvent } from '../../core/view/visible-event.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from '../../ports/store/list.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { MemorySearch } from '../../tools/react/memsearch.ts'

/** How many entries are read for one page. Reading 20,000 entries takes less than a second. */
const maxEntries = 20_000
/** How many conversations are listed together. */
const BATCH = 20

/**
 * Runs the searches of a process one after the other. The users take turns, so that a user with many searches does not delay the other
 * users much.
 */
export function createConversationSearch(store: Pick<ConversationStore, 'list' | 'readJournal'>) {
  const enqueue = createFairQueue([store], 1)
  return (query: ListQuery): Promise<ConversationPage> => enqueue(query.prefix ?? '', () => searchConversations(store, query))
}

/**
 * Lists the conversations whose title, messages or answers contain the text of the search. Only texts that users can see are compared.
 * Otherwise a user could use the search to find out what a tool has returned. The search reads the journals one after the other, the most
 * recently active first. It uses no index, because an index could keep the words of a deleted conversation. A page may have fewer
 * conversations than the limit although there are more.
 */
export async function searchConversations(
  store: Pick<ConversationStore, 'list' | 'readJournal'>,
  { search = '', limit = 50, ...query }: ListQuery,
  entriesOfPage = maxEntries,
): Promise<ConversationPage> {
  const wanted = fold(search)
  const found: ConversationInfo[] = []
  let { cursor } = query
  let entries = 0
  const isOver = () => found.length >= limit || entries >= entriesOfPage
  do {
    const listed = { ...query, ...(cursor !== undefined && { cursor }) }
    const page = await store.list({ ...listed, limit: BATCH })
    let examined = 0
    for (const conversation of page.conversations) {
      const { matches, read } = await examine(store, conversation, wanted)
      if (matches) found.push(conversation)
      entries += read
      examined++
      await nextTask() // Some stores read synchronously in this process. Without a pause, no other work would run during the search.
      if (isOver()) break
    }
    // If the search ends within a batch, the next search continues after the last conversation that was read.
    cursor = examined === page.conversations.length ? page.next : (await store.list({ ...listed, limit: examined })).next
  } while (cursor !== undefined && !isOver())
  return { conversations: found, ...(cursor !== undefined && { next: cursor }) }
}

async function examine(
  store: Pick<ConversationStore, 'readJournal'>,
  { conversationId, title }: ConversationInfo,
  wanted: string,
): Promise<{ readonly matches: boolean; readonly read: number }> {
  if (fold(title ?? '').includes(wanted)) return { matches: true, read: 1 }
  let read = 0
  for await (const { change } of store.readJournal(conversationId, { after: 0 })) {
    read += 1
    if (textsIn(change).some((text) => fold(text).includes(wanted))) return { matches: true, read }
  }
  return { matches: false, read }
}

/** The messages of users and the answers in a change. */
function textsIn(change: Change): readonly string[] {
  return change.type === 'blocks.appended' || change.type === 'blocks.inserted' || change.type === 'timeline.imported'
    ? readChange(change).flatMap(textsOf)
    : []
}

function textsOf(event: VisibleEvent): readonly string[] {
  if (event.kind === 'history') return event.events.flatMap(textsOf)
  if (event.kind === 'prompt' || event.kind === 'answer') return [event.text]
  return event.kind === 'message' && event.from !== 'external' ? [event.text] : []
}

/**
 * The form in which texts are compared: in lower case, and letters with accents in Unicode form NFC. The store compares titles in the same
 * form.
 */
const fold = (text: string): string => text.toWellFormed().normalize('NFC').toLowerCase()

/** What `Archive.recall` searches. */
export interface RecallQuery {
  readonly text: string
  readonly scope: Scope
  readonly key?: string
  /** The greatest number of hits. Default: 5. */
  readonly limit?: number
}

/** One hit of `Archive.recall`. `conversation` is the name of a conversation of the scope, and `path` is a path in it. */
export interface Recalled {
  readonly conversation: string
  readonly turnId: string
  readonly ts: string
  readonly role: string
  readonly path: string
  readonly text: string
}

/**
 * Searches the memory index of the store, by words and, if the search of the agent has an embedding model, by meaning. Users may see
 * everything that is found: messages, answers and attachments.
 */
export async function recallFrom(
  { memory }: Pick<ConversationStore, 'memory'>,
  { now }: Pick<Clock, 'now'>,
  { text, scope, key, limit = 5 }: RecallQuery,
  search?: Pick<MemorySearch, 'vectorOf'> | false,
): Promise<readonly Recalled[]> {
  const vector = memory && search ? await search.vectorOf?.(text) : undefined
  const found = await memory?.search(text, {
    within: key === undefined ? { user: scope } : { conversationId: key },
    targets: ['user', 'assistant', 'attachment'],
    now: now(),
    withLookups: true,
    limit,
    ...(vector && { vector }),
  })
  return (found ?? []).map(({ conversationId, turnId, ts, role, path, text: shown }) => {
    return { conversation: parseConversationKey(conversationId).name, turnId, ts, role, path, text: shown }
  })
}
