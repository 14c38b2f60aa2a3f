import { Failure } from '../../../core/failure.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { createWatchers } from '../shared/watchers.ts'
import type { Database } from './database.ts'
import { isBusy } from './open.ts'

/** How often the file is checked for commits of other processes while a conversation is watched. */
const POLL_MS = 200

/**
 * Watches conversations for new entries. The store notes the appends of this process. SQLite sends no notice when another process writes. So
 * while there are listeners, a timer asks whether anything else was committed. Only then are the watched conversations looked up.
 */
export function createWatch(database: Database) {
  const lastSeq = database.readStatement<{ last_seq: number }>('SELECT last_seq FROM conversations WHERE id = ? AND deleted_at IS NULL')
  const watchers = createWatchers((conversationId) =>
    conversationId.isWellFormed() ? database.read(() => lastSeq.get(conversationId)?.last_seq) : undefined,
  )
  const noted = new Map<string, number>()
  let revision = ''
  let timer: ReturnType<typeof setInterval> | undefined

  function poll(): void {
    for (const [conversationId, seq] of noted) watchers.tell(conversationId, seq)
    noted.clear()
    try {
      const current = database.revision()
      if (current === revision) return
      watchers.check()
      revision = current // set last: if the check fails because the file is locked, the next poll repeats it
    } catch (error) {
      if (!isBusy(error instanceof Failure ? error.cause : error)) watchers.fail(error)
    }
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
    noted.clear()
  }

  const watch: ConversationStore['watch'] = (conversationId, listener) => {
    const current = database.revision()
    const remove = watchers.add(conversationId, listener)
    if (timer === undefined) {
      revision = current
      timer = setInterval(poll, POLL_MS).unref() // watching alone does not keep the process running
    }
    return () => {
      remove()
      if (watchers.watched.size === 0) stop()
    }
  }

  return {
    watch,
    /** Notes the last entry of an append of this process. The listeners are told soon. */
    note(conversationId: string, seq: number): void {
      if (watchers.watched.has(conversationId)) noted.set(conversationId, seq)
    },
    close(): void {
      watchers.clear()
      stop()
    },
  }
}
