import type { Change } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import { isKnownEvent, type Timeline, waitingFollowups } from '../../core/timeline/timeline.ts'
import { MAX_TIMER_MS } from '../settings.ts'
import { interruptsTurn, needsAnswer } from '../turn/incoming-events.ts'
import { canGoOn, openWaits } from '../waits/wait-events.ts'
import type { Ledger } from './ledger.ts'

/** What a steer does with the running turn: `redirect` changes its direction, `wrap_up` ends it soon. */
export type SteerMode = 'redirect' | 'wrap_up'

/** The message that takes the place of a waiting message. */
export interface Replacement {
  readonly eventId: string
  readonly text: string
}

/** An event without a sequence number. It gets its number when it is accepted. */
export type NewEvent = Omit<InboxEvent, 'sequence'>

/**
 * The inbox of a running conversation. Events wait in it until a turn reads them. A steer also aborts the running model call or tool. An
 * accepted event is in the journal, so a crash does not lose it. A second event with the same id has no effect.
 */
export interface Inbox {
  /**
   * Journals an event. Returns `known` when an event with the same id was accepted before. The new event then has no effect. Returns false
   * when the inbox is closed. The sender must then start the conversation again. A steer also gets false when no turn is running.
   * With `offered`, the offer of the event is taken in the same commit, unless the inbox is closed. An offered steer also gets false when
   * another turn is running than the one it is for.
   */
  accept(event: NewEvent, offered?: 'offered'): Promise<'accepted' | 'known' | false>
  /**
   * Removes a message that no turn has read. Returns false when a turn has read the message, or when the next turn is started for the
   * message. If a message is removed, the offer `withdrawalId` is taken in the same commit. With `replacement`, the same commit adds a
   * message with the id and text of the replacement, and with the files of the removed message.
   */
  withdraw(eventId: string, ts: string, withdrawalId?: string, replacement?: Replacement): Promise<boolean>
  /** Whether a steer for the current turn is waiting. */
  hasSteer(): boolean
  /**
   * Begins a turn. A steer that is accepted from now on, and that names no target turn, is for this turn. `eventId` is the id of the
   * message with which the turn begins, if the message has an id.
   */
  startTurn(turnId: string, eventId: string | undefined): void
  /** The id of the running turn. Undefined between two turns. */
  readonly currentTurn: string | undefined
  /**
   * The id of the message with which the current turn began. Between two turns, it is the id of the followup with which the next turn
   * begins. Undefined for a message without an id, and for a resumed turn.
   */
  readonly openingEvent: string | undefined
  /** Ends the turn. No steer is accepted until the next turn starts. */
  endTurn(): void
  /**
   * Limits the time of the turn. After `ms` milliseconds the running model call or tool is aborted, and so is every later call of the turn.
   * A new limit replaces the previous limit. The limit is removed by `undefined` and by the end of the turn.
   */
  limitTime(ms: number | undefined): void
  /** True when the time limit of the turn is reached. */
  readonly timeUp: boolean
  /**
   * Begins an activity, which is a model call or a tool call. A steer or the time limit may abort the activity. When the activity is over,
   * the caller must call its `end`. A steer does not abort an activity in the `background`, for which no round waits.
   */
  beginActivity(background?: 'background'): Activity
  /**
   * Resolves when an event is accepted that the turn must answer: a followup, a steer, a reactive event, or the decision of a person. At
   * the latest it resolves after `ms` milliseconds, or when `until` resolves.
   */
  waitForEvents(ms: number, until?: Promise<void>): Promise<void>
  /**
   * Resolves when the next turn starts or the inbox is closed. It also resolves when an event is accepted, so the caller must check again.
   */
  untilTurnStarts(): Promise<void>
  /**
   * Returns the oldest followup that no turn has read. If there is none, closes the inbox. The check and the closing happen inside one
   * commit, and commits run one after the other, so no event can be accepted between them.
   */
  nextFollowupOrClose(): Promise<InboxEvent | undefined>
  /**
   * Closes the inbox of a turn that waits. Returns false, and leaves it open, when something has arrived with which the turn can continue.
   */
  closeWhileWaiting(now: string): Promise<boolean>
  close(): void
  readonly closed: boolean
}

/**
 * `cancelled` aborts when the agent is closed or the lease was lost. The state is in fields and not in getters: V8 reads the fields of an
 * object with getters several times slower, and every round reads them.
 */
export function createInbox(ledger: Ledger, firstTurn: string, cancelled: AbortSignal): Inbox {
  const activities: Activity[] = []
  const inBackground: Activity[] = []
  const waiters = new Set<() => void>()
  let turnId = firstTurn
  let limitTimer: NodeJS.Timeout | undefined
  const hasSteer = () => ledger.timeline.inbox.some((event) => interruptsTurn(event, turnId))

  const wakeAll = () => {
    for (const wake of waiters) wake()
  }
  const abortAll = (reason: unknown) => {
    for (const activity of [...activities, ...inBackground]) activity.abort(reason)
  }
  const abortRound = (reason: unknown) => {
    for (const activity of [...activities]) activity.abort(reason)
  }
  const endTime = () => {
    self.timeUp = true
    abortAll(timeLimitError())
  }
  function limitTime(ms: number | undefined): void {
    clearTimeout(limitTimer)
    self.timeUp = false
    if (ms === undefined || ms > MAX_TIMER_MS) return // a limit that is too long for a timer is checked only before each round
    if (ms <= 0) endTime()
    else limitTimer = setTimeout(endTime, ms)
  }
  cancelled.addEventListener('abort', () => abortAll(cancelled.reason), { once: true })

  const self: MutableInbox = {
    closed: false,
    timeUp: false,
    openingEvent: undefined,
    currentTurn: ledger.timeline.openTurn === undefined ? undefined : firstTurn,
    hasSteer,
    startTurn(next, eventId) {
      turnId = next
      self.currentTurn = next
      self.openingEvent = eventId
      wakeAll()
    },
    endTurn() {
      self.currentTurn = undefined
      limitTime(undefined)
    },
    limitTime,
    async accept(event, offered) {
      if (self.closed) return false // a closed inbox must not commit, because this process may have lost its claim
      let accepted: InboxEvent | undefined
      let rejected = false
      const changes = (timeline: Timeline): readonly Change[] => {
        const isLate =
          event.kind === 'steer' && (self.currentTurn === undefined || (offered !== undefined && !interruptsTurn(event, turnId)))
        rejected = self.closed || isLate
        if (rejected || isKnownEvent(timeline, event.event_id)) return []
        accepted = withSequence(event, timeline, turnId)
        return [{ type: 'event.accepted', event: accepted }]
      }
      const outcome = () => (accepted ? 'accepted' : rejected ? 'refused' : 'known')
      await ledger.commit(changes, offered && (() => (self.closed ? [] : [{ eventId: event.event_id, outcome: outcome() }])))
      if (accepted && (accepted.kind === 'decision' || needsAnswer(accepted, turnId))) wakeAll()
      if (accepted && interruptsTurn(accepted, turnId)) abortRound(steeredError())
      if (rejected) return false
      return accepted ? 'accepted' : 'known'
    },
    async withdraw(eventId, ts, withdrawalId, replacement) {
      if (self.closed) return false
      let withdrawn = false
      const changes = (timeline: Timeline): readonly Change[] => {
        const message =
          self.closed || eventId === self.openingEvent ? undefined : timeline.inbox.find(({ event_id }) => event_id === eventId)
        withdrawn = message !== undefined
        if (!message) return []
        const removal: Change = { type: 'event.folded', ts, event_ids: [eventId], turn_id: null }
        if (!replacement || isKnownEvent(timeline, replacement.eventId)) return [removal]
        const event = withSequence({ ...message, event_id: replacement.eventId, ts, text: replacement.text }, timeline, turnId)
        return [removal, { type: 'event.accepted', event }]
      }
      await ledger.commit(changes, () => (withdrawn && withdrawalId !== undefined ? [{ eventId: withdrawalId, outcome: 'accepted' }] : []))
      return withdrawn
    },
    beginActivity(background) {
      const activity = openActivity(background ? inBackground : activities)
      if (cancelled.aborted) activity.abort(cancelled.reason)
      else if (hasSteer() && !background) activity.abort(steeredError())
      else if (self.timeUp) activity.abort(timeLimitError())
      return activity
    },
    waitForEvents(ms, until) {
      if (ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          waiters.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        waiters.add(wake)
        until?.then(wake)
      })
    },
    untilTurnStarts: () =>
      new Promise((resolve) => {
        if (self.currentTurn !== undefined || self.closed) return resolve()
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
        self.closed = next === undefined
        self.openingEvent = next?.event_id
        return []
      })
      if (self.closed) wakeAll()
      return next
    },
    async closeWhileWaiting(now) {
      await ledger.commit((timeline) => {
        self.closed = !canGoOn(timeline, openWaits(timeline), turnId, now)
        return []
      })
      if (self.closed) wakeAll()
      return self.closed
    },
    close() {
      self.closed = true
      limitTime(undefined)
      wakeAll()
    },
  }
  return self
}

type MutableInbox = { -readonly [Field in keyof Inbox]: Inbox[Field] }

/** Numbers an event. A steer without a target turn gets the running turn as its target, so that it never affects a later turn. */
function withSequence(event: NewEvent, { lastEvent }: Timeline, turnId: string): InboxEvent {
  const numbered = { ...event, sequence: (lastEvent?.sequence ?? 0) + 1 }
  return event.kind === 'steer' && event.target_turn_id === undefined ? { ...numbered, target_turn_id: turnId } : numbered
}

const steeredError = () => new DOMException('The user steered.', 'AbortError')

const timeLimitError = () => new DOMException('The turn reached its time limit', 'TimeLimitError')

/** A model call or a tool call, which can be aborted. */
export interface Activity {
  /**
   * Aborts when a steer is accepted (except in the background), when the time limit is reached, when the agent is closed, or when the lease
   * is lost.
   */
  readonly signal: AbortSignal
  /** Aborts this activity only, for example because the response of the model is invalid. */
  abort(reason: unknown): void
  /**
   * Sets the function that is called when the signal aborts. If the signal is already aborted, the function is called at once. A later call
   * of `onStop` replaces the function.
   */
  onStop(callback: () => void): void
  end(): void
}

/**
 * Begins an activity and adds it to `open` until it ends. Several activities may run at the same time, and each ends by itself. `open` is a
 * list, because a set allocates a new table whenever its last item is removed.
 */
export function openActivity(open: Activity[] = []): Activity {
  const controller = new AbortController()
  const { signal } = controller
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
      const position = open.indexOf(activity)
      if (position === open.length - 1) open.pop()
      else if (position !== -1) open.splice(position, 1)
    },
  }
  open.push(activity)
  return activity
}
