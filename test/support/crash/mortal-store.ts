import type { ConversationStore } from '../../../src/ports/store.ts'

/** A process whose death is simulated. After its death, nothing that it does has an effect. */
export interface MortalProcess {
  readonly store: ConversationStore
  readonly alive: boolean
  /** Resolves when the process dies. */
  readonly died: Promise<void>
  kill(): void
}

/**
 * Makes a process that dies right before or after one of its writes to the store, such as the seventh. After its death, calls of the store
 * never resolve.
 */
export function createMortalProcess(inner: ConversationStore, death?: { readonly write: number; readonly side: 'before' | 'after' }) {
  const { promise: died, resolve } = Promise.withResolvers<void>()
  const never = new Promise<never>(() => {})
  let alive = true
  let writes = 0
  const kill = () => {
    alive = false
    resolve()
  }
  async function write<T>(work: () => Promise<T>): Promise<T> {
    if (!alive) return never
    const isLast = ++writes === death?.write
    if (isLast && death?.side === 'before') kill()
    if (!alive) return never
    const result = await work()
    if (isLast) kill()
    return alive ? result : never
  }
  const read = <T>(work: () => Promise<T>): Promise<T> => (alive ? work().then((result) => (alive ? result : never)) : never)
  const store: ConversationStore = {
    ...inner,
    append: (claim, changes, options) => write(() => inner.append(claim, changes, options)),
    offer: (id, event) => write(() => inner.offer(id, event)),
    claim: (id, owner) => read(() => inner.claim(id, owner)),
    renew: (claim) => read(() => inner.renew(claim)),
    release: (claim) => read(() => inner.release(claim)),
    head: (id) => read(() => inner.head(id)),
    list: (query) => read(() => inner.list(query)),
    loadVisible: (id) => read(() => inner.loadVisible(id)),
    readOffers: (id) => read(() => inner.readOffers(id)),
    findOffer: (id, eventId) => read(() => inner.findOffer(id, eventId)),
    delete: (id, options) => read(() => inner.delete(id, options)),
  }
  return {
    store,
    died,
    kill,
    get alive() {
      return alive
    },
  } satisfies MortalProcess
}
