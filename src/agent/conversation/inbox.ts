import type { InboxEvent } from '../../core/timeline/change.ts'
import { isKnownEvent, type Timeline, waitingFollowups } from '../../core/timeline/timeline.ts'
import { MAX_TIMER_MS } from '../settings.ts'
import { interruptsTurn, needsAnswer } from '../turn/incoming-events.ts'
import type { Ledger } from './ledger.ts'

/** What a steer asks of the running turn. */
export type SteerMode = 'redirect' | 'wrap_up'

/** An event without its sequence number, which it gets when it is accepted. */
export type NewEvent = Omit<InboxEvent, 'sequence'>

/**
 * The inbox of a running conversation. Events wait in it until a turn reads them. A steer also aborts what the turn is doing. An event is
 * journaled when it is accepted, so that a crash does not lose it and a second delivery has no effect.
 */
export interface Inbox {
  /**
   * Journals an event. `known` when an event with its id was accepted before: it has no effect. False when the inbox is closed: the sender
   * must then start the conversation again. For a steer it is also false when no turn is open.
   */
  accept(event: NewEvent): Promise<'accepted' | 'known' | false>
  /** Removes a message that no turn has read. False when a turn has read it or begins with it. */
  withdraw(eventId: string, ts: string): Promise<boolean>
  readonly waiting: readonly InboxEvent[]
  /** True while a steer for the current turn waits. */
  readonly hasSteer: boolean
  /** Begins a turn. From now on, a steer without a target is for this turn. */
  startTurn(turnId: string): void
  /** The id of the running turn. Undefined between two turns. */
  readonly currentTurn: string | undefined
  /** The id of the followup that the current turn began with, or that the next one begins with. Undefined for the first turn. */
  readonly openingEvent: string | undefined
  /** Ends the turn. Until the next turn starts, no steer is accepted. */
  endTurn(): void
  /**
   * Limits the time of the turn: the step that runs after `ms` milliseconds is aborted, and so is every later one. A new limit replaces the
   * one before; undefined removes it. The end of the turn removes it, too.
   */
  limitTime(ms: number | undefined): void
  /** True when the time of the turn is over. */
  readonly timeUp: boolean
  /** Begins a step that a steer or the time limit may interrupt. The caller must call `end` when the step is done. */
  beginActivity(): Activity
  /** Resolves when an event is accepted that the turn must answer, or after `ms` milliseconds. */
  waitForEvents(ms: number): Promise<void>
  /** Resolves when the next turn starts or the inbox is closed. May resolve early, so the caller must check again. */
  untilTurnStarts(): Promise<void>
  /**
   * Returns the oldest followup that no turn has taken in. When there is none, the inbox is closed in the same step, so that no event can
   * come in between.
   */
  nextFollowupOrClose(): Promise<InboxEvent | undefined>
  close(): void
  readonly closed: boolean
}

/** `cancelled` aborts when the conversation itself is stopped, by `close` or because the lease was lost. */
export function createInbox(ledger: Ledger, firstTurn: string, cancelled: AbortSignal): Inbox {
  const activities: Activity[] = []
  const waiters = new Set<() => void>()
  let turnId = firstTurn
  let closed = false
  let betweenTurns = false
  let openingEvent: string | undefined
  let timeUp = false
  let limitTimer: NodeJS.Timeout | undefined
  const hasSteer = () => ledger.timeline.inbox.some((event) => interruptsTurn(event, turnId))

  const wakeAll = () => {
    for (const wake of waiters) wake()
  }
  const abortAll = (reason: unknown) => {
    for (const activity of activities) activity.abort(reason)
  }
  const endTime = () => {
    timeUp = true
    abortAll(timeLimitError())
  }
  function limitTime(ms: number | undefined): void {
    clearTimeout(limitTimer)
    timeUp = false
    if (ms === undefined || ms > MAX_TIMER_MS) return // without a timer, the turn still checks its time before every round
    if (ms <= 0) endTime()
    else limitTimer = setTimeout(endTime, ms)
  }
  cancelled.addEventListener('abort', () => abortAll(cancelled.reason), { once: true })

  return {
    get waiting() {
      return ledger.timeline.inbox
    },
    get hasSteer() {
      return hasSteer()
    },
    startTurn(next) {
      turnId = next
      betweenTurns = false
      wakeAll()
    },
    get openingEvent() {
      return openingEvent
    },
    get currentTurn() {
      return betweenTurns ? undefined : turnId
    },
    endTurn() {
      betweenTurns = true
      limitTime(undefined)
    },
    limitTime,
    get timeUp() {
      return timeUp
    },
    async accept(event) {
      if (closed) return false // a closed inbox must not commit: the claim may be lost
      let accepted: InboxEvent | undefined
      let rejected = false
      await ledger.commit((timeline) => {
        rejected = closed || (betweenTurns && event.kind === 'steer')
        if (rejected || isKnownEvent(timeline, event.event_id)) return []
        accepted = withSequence(event, timeline, turnId)
        return [{ type: 'event.accepted', event: accepted }]
      })
      if (accepted && needsAnswer(accepted, turnId)) wakeAll()
      if (accepted && interruptsTurn(accepted, turnId)) abortAll(steeredError())
      if (rejected) return false
      return accepted ? 'accepted' : 'known'
    },
    async withdraw(eventId, ts) {
      if (closed) return false
      let withdrawn = false
      await ledger.commit(({ inbox }) => {
        withdrawn = !closed && eventId !== openingEvent && inbox.some(({ event_id }) => event_id === eventId)
        return withdrawn ? [{ type: 'event.folded', ts, event_ids: [eventId], turn_id: null }] : []
      })
      return withdrawn
    },
    beginActivity() {
      const activity = openActivity(activities)
      if (cancelled.aborted) activity.abort(cancelled.reason)
      else if (hasSteer()) activity.abort(steeredError())
      else if (timeUp) activity.abort(timeLimitError())
      return activity
    },
    waitForEvents(ms) {
      if (ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          waiters.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        waiters.add(wake)
      })
    },
    untilTurnStarts: () =>
      new Promise((resolve) => {
        if (!betweenTurns || closed) return resolve()
        const wake = () => {
          waiters.delete(wake)
          resolve()
        }
        waiters.add(wake)
      }),
    async nextFollowupOrClose() {
      let next: InboxEvent | undefined
      await ledger.commit((timeline) => {
        next = waitingFollowups(timeline)[0]
        closed = next === undefined
        openingEvent = next?.event_id
        return []
      })
      if (closed) wakeAll()
      return next
    },
    close() {
      closed = true
      limitTime(undefined)
      wakeAll()
    },
    get closed() {
      return closed
    },
  }
}

/** Numbers an event. A steer without a target gets the open turn as its target, so that it never affects a later one. */
function withSequence(event: NewEvent, { lastEvent }: Timeline, turnId: string): InboxEvent {
  const numbered = { ...event, sequence: (lastEvent?.sequence ?? 0) + 1 }
  return event.kind === 'steer' && event.target_turn_id === undefined ? { ...numbered, target_turn_id: turnId } : numbered
}

const steeredError = () => new DOMException('The user steered.', 'AbortError')

const timeLimitError = () => new DOMException('The turn reached its time limit', 'TimeLimitError')

/** One interruptible step of a turn: a model call or a tool call. */
export interface Activity {
  /** Aborts when a steer comes in, when the time of the turn is over, or when the turn is cancelled. */
  readonly signal: AbortSignal
  /** Aborts this step only, for example because the response is invalid. */
  abort(reason: unknown): void
  /** Calls the function when the signal aborts, or at once if it is aborted already. Only the latest callback is kept. */
  onStop(callback: () => void): void
  end(): void
}

/** Begins an activity. Activities may be nested: ending one ends those that began after it. */
export function openActivity(open: Activity[] = []): Activity {
  const controller = new AbortController()
  const { signal } = controller
  const depth = open.length
  let stopped: (() => void) | undefined
  const activity: Activity = {
    signal,
    abort(reason) {
      if (signal.aborted) return
      controller.abort(reason)
      stopped?.()
    },
    onStop(callback) {
      stopped = callback
      if (signal.aborted) callback()
    },
    end() {
      while (open.length > depth) open.pop()
    },
  }
  open.push(activity)
  return activity
}
