import type { ConversationSummary } from 'daybook/client'
import { client } from './session.ts'

/** The list of conversations. */
export interface ConversationListState {
  readonly items: readonly ConversationSummary[]
  readonly next: string | undefined
  readonly search: string
  readonly loaded: boolean
  readonly error: string | undefined
}

let state: ConversationListState = { items: [], next: undefined, search: '', loaded: false, error: undefined }
const listeners = new Set<() => void>()
let requests = 0

function change(next: Partial<ConversationListState>): void {
  state = { ...state, ...next }
  for (const listener of listeners) listener()
}

export const conversationList = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  get: () => state,
}

/**
 * Loads the first page of the list. If another request is sent before the response arrives, the response to the earlier request is ignored.
 */
export async function loadConversations(search = state.search): Promise<void> {
  const request = ++requests
  if (search !== state.search) change({ search })
  try {
    const { conversations, next } = await client.conversations.list(search === '' ? {} : { search })
    if (request === requests) change({ items: conversations, next, loaded: true, error: undefined })
  } catch (error) {
    if (request === requests) change({ loaded: true, error: error instanceof Error ? error.message : String(error) })
  }
}

/** Loads the next page of the list. */
export async function loadMoreConversations(): Promise<void> {
  const { next: cursor, search } = state
  if (cursor === undefined) return
  const { conversations, next } = await client.conversations.list({ cursor, ...(search !== '' && { search }) })
  if (state.next === cursor) change({ items: [...state.items, ...conversations], next })
}

/** Changes the title in the list before the server sends the list again. */
export function showTitle(id: string, title: string): void {
  if (state.items.some((item) => item.id === id && item.title !== title))
    change({ items: state.items.map((item) => (item.id === id ? { ...item, title } : item)) })
}

/** Shows in the list whether a turn is open, before the server sends the list again. */
export function showOpenTurn(id: string, openTurn: string | null): void {
  if (state.items.some((item) => item.id === id && item.open_turn !== openTurn))
    change({ items: state.items.map((item) => (item.id === id ? { ...item, open_turn: openTurn } : item)) })
}

/** Removes a deleted conversation from the list. */
export function dropConversation(id: string): void {
  change({ items: state.items.filter((item) => item.id !== id) })
}
