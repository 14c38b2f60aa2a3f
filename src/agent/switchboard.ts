import type { Running, Start } from './conversation.ts'
import type { NewEvent } from './inbox.ts'

/** Which conversations are being worked on here. One turn at a time: whoever comes second is put through to the first. */
export interface Switchboard {
  /** Hands the event to whoever is at work on the conversation. Undefined when nobody is. */
  tell(conversationId: string, event: NewEvent): Promise<Running | undefined>
  /** The same; and when nobody is at work, starts: then no event is made. */
  tellOrStart(conversationId: string, event: () => NewEvent, start: Start): Promise<PutThrough>
  /** Undefined when somebody is at work already, or when there is nothing to do. */
  start(conversationId: string, start: Start): Promise<Running | undefined>
  /** Who is at work on it. */
  find(conversationId: string): Promise<Running | undefined>
  readonly active: Iterable<Promise<Running | undefined>>
  /** The conversations that somebody is at work on. */
  readonly names: Iterable<string>
  readonly size: number
}

export interface PutThrough {
  readonly running: Running | undefined
  /** The event, when it is in the inbox of work that had begun before. */
  readonly told?: NewEvent
}

export function createSwitchboard(begin: (conversationId: string, start: Start) => Promise<Running | undefined>): Switchboard {
  const active = new Map<string, Promise<Running | undefined>>()

  function start(conversationId: string, reason: Start): Promise<Running | undefined> {
    const starting = begin(conversationId, reason)
    active.set(conversationId, starting)
    const gone = () => void active.delete(conversationId)
    starting.then((running) => (running ? running.over.then(gone, gone) : gone()), gone)
    return starting
  }

  /** Between looking and starting nothing is awaited: two who come at once do not both start. */
  async function putThrough(conversationId: string, make: () => NewEvent, reason: Start): Promise<PutThrough> {
    let event: NewEvent | undefined
    for (;;) {
      const present = active.get(conversationId)
      if (!present) return { running: await start(conversationId, reason) }
      const running = await present.catch(() => undefined) // whoever started it is told why it failed
      if (running && !running.inbox.closed) {
        event ??= make()
        if (await running.inbox.accept(event)) return { running, told: event }
      }
      await running?.over.catch(() => {}) // it is coming to rest
    }
  }

  return {
    async tell(conversationId, event) {
      const running = await active.get(conversationId)?.catch(() => undefined)
      return (await running?.inbox.accept(event)) ? running : undefined
    },
    tellOrStart: putThrough,
    start: async (conversationId, reason) => (active.has(conversationId) ? undefined : start(conversationId, reason)),
    find: async (conversationId) => active.get(conversationId)?.catch(() => undefined),
    get active() {
      return active.values()
    },
    get names() {
      return active.keys()
    },
    get size() {
      return active.size
    },
  }
}
