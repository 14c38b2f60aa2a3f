import type { MemoryIndex, MemoryScope } from '../../../../ports/store/memory-index.ts'
import { folderOfScope } from '../../shared/recall/memory-index.ts'

/** A catch-up, and how many callers wait for it. */
interface Run {
  readonly result: Promise<number>
  callers: number
  /** Ends the catch-up, because no caller waits for it any more. */
  stop(): void
}

/**
 * Lets only one catch-up of a folder run at a time. Each catch-up holds a connection while it waits for the lock of the folder, so the
 * searches of one user could take all connections. Searches with the same scope share the next catch-up. They do not share the running one,
 * because it does not index what was appended after it had begun.
 */
export function queueByFolder(catchUp: MemoryIndex['catchUp']): MemoryIndex['catchUp'] {
  /** The end of the last catch-up of each folder. */
  const ends = new Map<string, Promise<void>>()
  /** The catch-ups that have not begun, by their scope. */
  const waiting = new Map<string, Run>()

  function add(scope: string, within: MemoryScope): Run {
    const folder = folderOfScope(within)
    const ending = new AbortController()
    const leave = () => waiting.get(scope) === run && waiting.delete(scope)
    const result = (ends.get(folder) ?? Promise.resolve()).then(() => {
      leave()
      return ending.signal.aborted ? 0 : catchUp({ within, signal: ending.signal })
    })
    const run: Run = {
      result,
      callers: 0,
      stop() {
        leave()
        ending.abort()
      },
    }
    const forget = () => {
      if (ends.get(folder) === end) ends.delete(folder)
    }
    const end = result.then(forget, forget) // the callers get the error
    ends.set(folder, end)
    waiting.set(scope, run)
    return run
  }

  return async ({ within, signal } = {}) => {
    if (within === undefined) return untilAborted(catchUp({ ...(signal && { signal }) }), signal)
    const scope = JSON.stringify('conversationId' in within ? { id: within.conversationId } : { folder: folderOfScope(within) })
    const run = waiting.get(scope) ?? add(scope, within)
    run.callers++
    return untilAborted(run.result, signal, () => {
      if (--run.callers === 0) run.stop()
    })
  }
}

/** The result of a catch-up, or 0 when the signal is aborted first. A statement can wait for a lock, which the signal does not end. */
async function untilAborted(result: Promise<number>, signal: AbortSignal | undefined, onAborted = () => {}): Promise<number> {
  if (!signal) return result
  const aborted = Promise.withResolvers<number>()
  const end = () => {
    onAborted()
    aborted.resolve(0)
  }
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  try {
    return await Promise.race([result, aborted.promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
