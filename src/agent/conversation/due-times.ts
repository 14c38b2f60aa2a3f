import type { Clock } from '../../ports/clock.ts'
import { MAX_TIMER_MS } from '../settings.ts'

/** Conversations that are to be resumed, each at its own time. */
export interface DueTimes {
  /** Notes that the conversation is to be resumed at this time, in milliseconds. */
  add(conversationId: string, due: number): void
  close(): void
}

/**
 * Calls `onDue` for each conversation when its time has come. Thousands of turns may wait for one provider, so each conversation takes only
 * the memory of its id. The ids are grouped by the second in which they are due, and a single timer runs, for the next of these seconds.
 */
export function createDueTimes(clock: Pick<Clock, 'now'>, onDue: (conversationId: string) => void): DueTimes {
  const bySecond = new Map<number, string[]>()
  let timer: NodeJS.Timeout | undefined
  let next = Number.POSITIVE_INFINITY
  const now = () => Date.parse(clock.now())

  function schedule(second: number): void {
    if (second >= next) return
    clearTimeout(timer)
    next = second
    timer = setTimeout(fire, Math.min(Math.max(0, second * 1000 - now()), MAX_TIMER_MS))
    timer.unref()
  }

  function fire(): void {
    next = Number.POSITIVE_INFINITY
    const due = [...bySecond.keys()].filter((second) => second * 1000 <= now())
    for (const second of due) {
      const ids = bySecond.get(second) ?? []
      bySecond.delete(second)
      for (const id of ids) onDue(id)
    }
    for (const second of bySecond.keys()) schedule(second)
  }

  return {
    add(conversationId, due) {
      const second = Math.ceil(due / 1000)
      const ids = bySecond.get(second)
      if (ids) ids.push(conversationId)
      else bySecond.set(second, [conversationId])
      schedule(second)
    },
    close() {
      clearTimeout(timer)
      bySecond.clear()
    },
  }
}
