import { type Client, type JournalPage, RequestRefused } from 'daybook/client'

/** The journal of a conversation as far as it has arrived. */
export interface JournalState {
  readonly entries: JournalPage['entries']
  /** Whether all entries that were stored when the journal was opened have arrived. */
  readonly loaded: boolean
  /** The server refused the journal, for example because the person is not an operator. */
  readonly refused: RequestRefused | undefined
}

/** The journal of a conversation, for `useSyncExternalStore`. New entries are added when they are stored on the server. */
export interface JournalStore {
  subscribe(listener: () => void): () => void
  get(): JournalState
  close(): void
}

const pageSize = 1000

/** Reads the journal page by page and then follows it. Entries that arrive together cause one change of the state. */
export function openJournal(client: Client, id: string): JournalStore {
  let state: JournalState = { entries: [], loaded: false, refused: undefined }
  const line = new AbortController()
  const listeners = new Set<() => void>()
  let arrived: JournalPage['entries'][number][] = []

  function change(next: Partial<JournalState>): void {
    if (line.signal.aborted) return
    state = { ...state, ...next }
    for (const listener of listeners) listener()
  }
  async function read(): Promise<number> {
    let after = 0
    for (let next: number | undefined = 0; next !== undefined; ) {
      const page: JournalPage = await client.entries(id, { after: next, limit: pageSize })
      change({ entries: [...state.entries, ...page.entries] })
      after = page.entries.at(-1)?.seq ?? after
      next = page.next
    }
    change({ loaded: true })
    return after
  }
  function add(): void {
    const entries = arrived
    arrived = []
    change({ entries: [...state.entries, ...entries] })
  }
  async function run(): Promise<void> {
    try {
      const after = await read()
      for await (const event of client.follow(id, { after, signal: line.signal, silenceMs: 10_000 })) {
        if (event.type !== 'entry') continue
        if (arrived.push({ seq: event.seq, change: event.change }) === 1) setTimeout(add, 50)
      }
    } catch (error) {
      if (line.signal.aborted) return
      if (error instanceof RequestRefused) change({ refused: error })
      else throw error
    }
  }
  void run()
  return {
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    get: () => state,
    close: () => line.abort(),
  }
}
