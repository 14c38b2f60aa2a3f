import { type Client, type ConversationView, emptyView, RequestRefused, type TurnEvent } from 'daybook/client'
import { keepShownText } from '../model/live-text.ts'
import { foldSome, onlyLiveDiffers } from './fold-some.ts'
import { nextTask } from './next-task.ts'

/** A conversation as the page knows it, and the state of its event stream. */
export interface ConversationState {
  readonly view: ConversationView
  /** Whether all entries that were stored when the conversation was opened have arrived. */
  readonly loaded: boolean
  readonly connection: 'opening' | 'open' | 'lost'
  /** How often the page has tried to reconnect since the event stream was lost. */
  readonly attempt: number
  /** The server refused to send this conversation, and trying again does not help. */
  readonly refused: RequestRefused | undefined
}

/** One conversation, for `useSyncExternalStore`. */
export interface ConversationStore {
  subscribe(listener: () => void): () => void
  get(): ConversationState
  /** Reconnects without waiting. */
  retry(): void
  close(): void
}

const initial: ConversationState = { view: emptyView, loaded: false, connection: 'opening', attempt: 0, refused: undefined }

/** How often a hidden page applies events, in milliseconds. A hidden page gets no animation frames, so a timer is used. */
const hiddenPageMs = 250
/** After how many milliseconds without any data an event stream is opened again. The server sends a comment every 3 seconds. */
const silenceMs = 10_000

/** How many milliseconds of an animation frame may be used to apply events to the view. The remaining events wait for the next frame. */
const foldMs = 8
/** After this many milliseconds of reading events, the page lets the browser draw and handle input. */
const readMs = 6

/**
 * Follows a conversation and applies its events to the view. All events of one animation frame cause one change of the state. While the
 * page is hidden, events are applied, but new text changes the state only when the page is visible again.
 */
export function openConversation(client: Client, id: string): ConversationStore {
  let state = initial
  let stream = new AbortController()
  let storedSeq: number | undefined
  let folded = emptyView // the view after all events so far. `state.view` is the view that the page shows
  let queue: TurnEvent[] = []
  let cancelScheduled: (() => void) | undefined
  const listeners = new Set<() => void>()

  function change(next: Partial<ConversationState>): void {
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }
  function applyQueue(): void {
    cancelScheduled = undefined
    const before = folded
    const end = performance.now() + foldMs
    const { view, rest } = foldSome(queue, folded, () => !document.hidden && performance.now() > end)
    folded = view
    queue = rest
    if (rest.length > 0) schedule()
    const loaded = state.loaded || (storedSeq !== undefined && folded.lastSeq >= storedSeq)
    if (document.hidden && loaded === state.loaded && onlyLiveDiffers(before, folded)) return
    change({ view: keepShownText(state.view, folded), loaded })
  }
  function schedule(): void {
    if (cancelScheduled) return
    if (document.hidden) {
      const timer = setTimeout(applyQueue, hiddenPageMs)
      cancelScheduled = () => clearTimeout(timer)
    } else {
      const frame = requestAnimationFrame(applyQueue)
      cancelScheduled = () => cancelAnimationFrame(frame)
    }
  }
  function scheduleAgain(): void {
    cancelScheduled?.()
    cancelScheduled = undefined
    schedule()
  }

  async function follow({ signal }: AbortController): Promise<void> {
    let since = performance.now()
    try {
      const after = folded.lastSeq
      const onConnection = (connection: 'open' | 'lost') => {
        if (signal.aborted) return
        change({ connection, attempt: connection === 'lost' ? state.attempt + 1 : 0 })
      }
      for await (const event of client.follow(id, { after, signal, onConnection, silenceMs })) {
        if (signal.aborted) return
        queue.push(event)
        schedule()
        if (performance.now() - since < readMs) continue
        await nextTask()
        since = performance.now()
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
      storedSeq = 0 // `follow` fails for the same reason and reports it
    }
    schedule()
  }
  function retry(): void {
    stream.abort()
    queue = [] // the new stream sends these entries again
    stream = new AbortController()
    void follow(stream)
  }
  const onVisible = () => {
    scheduleAgain() // when the page becomes visible, it shows what arrived while it was hidden
    if (!document.hidden && state.connection !== 'open' && state.refused === undefined) retry()
  }
  document.addEventListener('visibilitychange', onVisible)
  window.addEventListener('online', onVisible)
  void readStoredSeq()
  void follow(stream)

  return {
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    get: () => state,
    retry,
    close() {
      stream.abort()
      cancelScheduled?.()
      document.removeEventListener('visibilitychange', onVisible)
      window.removeEventListener('online', onVisible)
    },
  }
}
