import type { InboxEvent } from '../../core/timeline/change.ts'
import { isKnownEvent, type Timeline, waitingFollowups } from '../../core/timeline/timeline.ts'
import { interruptsTurn, needsAnswer } from '../turn/incoming-events.ts'
import type { Ledger } from './ledger.ts'

/** What a user asks of a running turn from outside. */
export type SteerMode = 'redirect' | 'wrap_up'

/** An event as it is brought in: its place in the order is given when it is accepted. */
export type NewEvent = Omit<InboxEvent, 'sequence'>

/**
 * Where events wait until the turn looks. A steer does not wait: it fires the signal of whatever the turn is doing.
 * Events are entered in the journal when they are accepted, so a crash loses none and a second delivery changes nothing.
 */
export interface Inbox {
  /** False when the conversation has come to rest: whoever has something to say must start a turn. For a steer: when no turn runs. */
  accept(event: NewEvent): Promise<boolean>
  readonly waiting: readonly InboxEvent[]
  /** A steer of the turn that is running has not been taken in yet. */
  readonly hasSteer: boolean
  /** The turn that a steer is meant for, unless it names another. */
  startTurn(turnId: string): void
  /** That turn, while it is open. */
  readonly currentTurn: string | undefined
  /** That turn is closed: until the next is served there is nothing to steer. */
  endTurn(): void
  /** The turn does something that a steer may interrupt. Call `end` when it is done. */
  beginActivity(): Activity
  /** Resolves when the turn has something new to look at, or after `ms`. */
  waitForEvents(ms: number): Promise<void>
  /** Resolves when a turn is served, or when there will be none; perhaps sooner. */
  untilTurnStarts(): Promise<void>
  /** The oldest followup that no turn has taken in. Without one the inbox is closed, and nothing can slip in between. */
  nextFollowupOrClose(): Promise<InboxEvent | undefined>
  close(): void
  readonly closed: boolean
}

/** `turns` fires when the turns themselves are cancelled. */
export function createInbox(ledger: Ledger, firstTurn: string, turns: AbortSignal): Inbox {
  const phases: Activity[] = []
  const sleepers = new Set<() => void>()
  let turnId = firstTurn
  let closed = false
  let left = false
  const isSteered = () => ledger.timeline.inbox.length > 0 && ledger.timeline.inbox.some((event) => interruptsTurn(event, turnId))

  const wakeAll = () => {
    for (const wake of sleepers) wake()
  }
  const abortAll = (reason: unknown) => {
    for (const phase of phases) phase.abort(reason)
  }
  turns.addEventListener('abort', () => abortAll(turns.reason), { once: true })

  return {
    get waiting() {
      return ledger.timeline.inbox
    },
    get hasSteer() {
      return isSteered()
    },
    startTurn(next) {
      turnId = next
      left = false
      wakeAll()
    },
    get currentTurn() {
      return left ? undefined : turnId
    },
    endTurn() {
      left = true
    },
    async accept(event) {
      if (closed) return false // its ledger may be broken, or no longer ours
      let entered: InboxEvent | undefined
      let late = false
      await ledger.commit((timeline) => {
        late = closed || (left && event.kind === 'steer')
        if (late || isKnownEvent(timeline, event.event_id)) return []
        entered = withSequence(event, timeline, turnId)
        return [{ type: 'event.accepted', event: entered }]
      })
      if (entered && needsAnswer(entered, turnId)) wakeAll()
      if (entered && interruptsTurn(entered, turnId)) abortAll(steeredError())
      return !late
    },
    beginActivity() {
      const phase = openActivity(phases)
      if (turns.aborted) phase.abort(turns.reason)
      else if (isSteered()) phase.abort(steeredError())
      return phase
    },
    waitForEvents(ms) {
      if (ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          sleepers.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        sleepers.add(wake)
      })
    },
    untilTurnStarts: () =>
      new Promise((resolve) => {
        if (!left || closed) return resolve()
        const wake = () => {
          sleepers.delete(wake)
          resolve()
        }
        sleepers.add(wake)
      }),
    async nextFollowupOrClose() {
      let next: InboxEvent | undefined
      await ledger.commit((timeline) => {
        next = waitingFollowups(timeline)[0]
        closed = next === undefined
        return []
      })
      if (closed) wakeAll()
      return next
    },
    close() {
      closed = true
      wakeAll()
    },
    get closed() {
      return closed
    },
  }
}

/** In its place, and for a steer: to whom. One that names no turn means the turn that was running when it came, and no later one. */
function withSequence(event: NewEvent, { lastEvent }: Timeline, turnId: string): InboxEvent {
  const placed = { ...event, sequence: (lastEvent?.sequence ?? 0) + 1 }
  return event.kind === 'steer' && event.target_turn_id === undefined ? { ...placed, target_turn_id: turnId } : placed
}

const steeredError = () => new DOMException('The user steered.', 'AbortError')

/** Something that a turn does and that may be stopped from outside. */
export interface Activity {
  /** Fires when a steer comes in, or when the turn is cancelled. */
  readonly signal: AbortSignal
  /** Whoever does it may also stop it. */
  abort(reason: unknown): void
  /** Calls back at that moment, or at once when it has come already. The latest counts. Cheaper than to listen to the signal. */
  onStop(act: () => void): void
  /** It is done. */
  end(): void
}

/** Phases lie one within another: whichever began last ends first. */
export function openActivity(open: Activity[] = []): Activity {
  const phase = new OpenActivity(open)
  open.push(phase)
  return phase
}

/** Two are opened in every round: a class, because closures for each of them would be most of what a phase costs. */
class OpenActivity implements Activity {
  readonly signal: AbortSignal
  private readonly stopping = new AbortController()
  private readonly open: Activity[]
  private readonly outer: number
  private act: (() => void) | undefined = undefined

  constructor(open: Activity[]) {
    this.signal = this.stopping.signal
    this.open = open
    this.outer = open.length
  }

  abort(reason: unknown): void {
    if (this.signal.aborted) return
    this.stopping.abort(reason)
    this.act?.()
  }

  onStop(latest: () => void): void {
    this.act = latest
    if (this.signal.aborted) latest()
  }

  end(): void {
    while (this.open.length > this.outer) this.open.pop() // to set its length costs nine times as much
  }
}
