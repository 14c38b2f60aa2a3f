import { type Client, type ConversationView, emptyView, foldEvent, RequestRefused, type TurnEvent } from 'daybook/client'

/** A conversation as the page knows it, and the state of the line to the server. */
export interface ConversationState {
  readonly view: ConversationView
  /** Whether all entries that were stored when the conversation was opened have arrived. */
  readonly loaded: boolean
  readonly connection: 'opening' | 'open' | 'lost'
  /** How often the page has tried to reconnect since the line was lost. */
  readonly attempt: number
  /** The server refused to send this conversation, and trying again does not help. */
  readonly refused: RequestRefused | undefined
}

/** One conversation, for `useSyncExternalStore`. */
export interface ConversationStore {
  subscribe(listener: () => void): () => void
  get(): ConversationState
  /** Reconnects at once. */
  retry(): void
  close(): void
}

const initial: ConversationState = { view: emptyView, loaded: false, connection: 'opening', attempt: 0, refused: undefined }

/** A hidden page gets no animation frames, so events are applied by a timer then. */
const hiddenPageMs = 250
/** A line on which nothing arrives for so long is opened again. The server sends a comment every 3 seconds. */
const silenceMs = 10_000

/** Follows a conversation and folds its events. All events of one animation frame cause one change of the state. */
export function openConversation(client: Client, id: string): ConversationStore {
  let state = initial
  let line = new AbortController()
  let storedSeq: number | undefined
  let queue: TurnEvent[] = []
  let scheduled = false
  const listeners = new Set<() => void>()

  function change(next: Partial<ConversationState>): void {
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }
  function applyQueue(): void {
    scheduled = false
    const events = queue
    queue = []
    const view = events.reduce(foldEvent, state.view)
    change({ view, loaded: state.loaded || isLoaded(view) })
  }
  const isLoaded = (view: ConversationView) => storedSeq !== undefined && view.lastSeq >= storedSeq
  function schedule(): void {
    if (scheduled) return
    scheduled = true
    if (document.hidden) setTimeout(applyQueue, hiddenPageMs)
    else requestAnimationFrame(applyQueue)
  }

  async function follow({ signal }: AbortController): Promise<void> {
    try {
      const after = state.view.lastSeq
      const onConnection = (connection: 'open' | 'lost') => {
        if (signal.aborted) return
        change({ connection, attempt: connection === 'lost' ? state.attempt + 1 : 0 })
      }
      for await (const event of client.follow(id, { after, signal, onConnection, silenceMs })) {
        if (signal.aborted) return
        queue.push(event)
        schedule()
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof RequestRefused) change({ refused: error })
      else throw error
    }
  }
  async function readStoredSeq(): Promise<void> {
    try {
      storedSeq = (await client.conversations.get(id)).last_seq
    } catch {
      storedSeq = 0 // `follow` meets the same problem and reports it
    }
    schedule()
  }
  function retry(): void {
    line.abort()
    queue = [] // a new line sends these entries again
    line = new AbortController()
    void follow(line)
  }
  const onVisible = () => {
    if (!document.hidden && state.connection !== 'open' && state.refused === undefined) retry()
  }
  document.addEventListener('visibilitychange', onVisible)
  window.addEventListener('online', onVisible)
  void readStoredSeq()
  void follow(line)

  return {
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    get: () => state,
    retry,
    close() {
      line.abort()
      document.removeEventListener('visibilitychange', onVisible)
      window.removeEventListener('online', onVisible)
    },
  }
}
