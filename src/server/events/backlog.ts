import type { LaneEvent, TurnEvent } from '../../core/event.ts'

/**
 * The events that wait to be sent to one client. If too many wait, text deltas are joined. If there are still too many, the client must
 * reconnect.
 */
interface Backlog {
  /** Adds an event. Returns false if too many events wait even after joining deltas. The caller then must end the stream. */
  push(event: TurnEvent): boolean
  /** Removes and returns all waiting events. */
  drain(): readonly TurnEvent[]
  readonly size: number
}

export const defaultMaxBacklog = 1000

export function createBacklog(limit = defaultMaxBacklog): Backlog {
  let waiting: TurnEvent[] = []
  let joinedUpTo = 0 // the events before this index are already joined
  return {
    push(event) {
      waiting.push(event)
      if (waiting.length <= limit) return true
      const joined = [...waiting.slice(0, joinedUpTo), ...joinDeltas(waiting.slice(joinedUpTo))]
      waiting = joined
      joinedUpTo = Math.max(0, joined.length - 1) // the last event may still be joined with the next one
      return joined.length <= limit
    },
    drain() {
      const drained = waiting
      waiting = []
      joinedUpTo = 0
      return drained
    },
    get size() {
      return waiting.length
    },
  }
}

/** Joins consecutive deltas of one lane into one delta. */
export function joinDeltas(events: readonly TurnEvent[]): TurnEvent[] {
  const joined: TurnEvent[] = []
  let run: LaneEvent[] = []
  const endRun = () => {
    const [first] = run
    if (first) joined.push(run.length === 1 ? first : joinRun(run))
    run = []
  }
  for (const event of events) {
    const last = run.at(-1)
    if (event.type === 'lane.delta' && last && continues(last, event)) {
      run.push(event)
      continue
    }
    endRun()
    if (event.type === 'lane.delta') run.push(event)
    else joined.push(event)
  }
  endRun()
  return joined
}

/** Whether `after` can be joined to `before`. A delta with the index 0 starts its lane again and can not be joined. */
function continues(before: LaneEvent, after: LaneEvent): boolean {
  const [a, b] = [before.delta, after.delta]
  return (
    b.index > 0 &&
    !a.completed &&
    before.turn_id === after.turn_id &&
    before.iteration === after.iteration &&
    before.attempt === after.attempt &&
    a.marker === b.marker &&
    a.artifact_name === b.artifact_name &&
    a.format === b.format
  )
}

/** Joins deltas into one. The result has the index of the first delta, because the index 0 means that the lane starts. */
function joinRun(run: readonly LaneEvent[]): LaneEvent {
  const [first] = run as [LaneEvent]
  const last = run.at(-1) as LaneEvent // a run has at least one event
  const text = run.map(({ delta }) => delta.text).join('')
  return { ...last, delta: { ...last.delta, index: first.delta.index, text } }
}
