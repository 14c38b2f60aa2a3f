import { Failure } from '../../../core/failure.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { createWatchers } from '../shared/watchers.ts'
import type { Database } from './database.ts'
import { isBusy } from './open.ts'

/** How often the file is checked for commits of other processes while a conversation is watched. */
const POLL_MS = 200

/**
 * Watches conversations for new entries. SQLite sends no notice when another process writes. So while there are listeners, a timer asks
 * whether anything was committed. Only then are the watched conversations looked up.
 */
export function createWatch(database: Database) {
  const lastSeq = database.readStatement<{ last_seq: number }>('SELECT last_seq FROM conversations WHERE id = ? AND deleted_at IS NULL')
  const watchers = createWatchers((conversationId) =>
    conversationId.isWellFormed() ? database.read(() => lastSeq.get(conversationId)?.last_seq) : undefined,
  )
  let revision = ''
  let timer: ReturnType<typeof setInterval> | undefined

  function poll(): void {
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
    close(): void {
      watchers.clear()
      stop()
    },
  }
}
