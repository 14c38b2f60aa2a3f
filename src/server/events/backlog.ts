import type { LaneEvent, TurnEvent } from '../../core/event.ts'
import { textSize } from '../../core/json.ts'

/** The events that wait to be sent to one client. If too many wait, text deltas are joined. */
interface Backlog {
  /** Adds an event. Returns false if the backlog is over its limit even after joining deltas. */
  push(event: TurnEvent): boolean
  /** Removes and returns the oldest event. */
  shift(): TurnEvent | undefined
  /** Whether the backlog is at most half full. */
  hasRoom(): boolean
  clear(): void
  readonly size: number
}

/** The maximum number of events and of bytes that may wait. One event may always wait, even if it is larger than the limit. */
export interface BacklogLimits {
  readonly events: number
  readonly bytes: number
}

export const defaultBacklog: BacklogLimits = { events: 1000, bytes: 1024 * 1024 }

export function createBacklog(limits: BacklogLimits = defaultBacklog): Backlog {
  let waiting: TurnEvent[] = []
  let first = 0 // the events before this index were already taken
  let joinedUpTo = 0 // the events before this index are already joined
  let bytes = 0
  const count = () => waiting.length - first

  function join(): void {
    const from = Math.max(first, joinedUpTo)
    waiting = [...waiting.slice(first, from), ...joinDeltas(waiting.slice(from))]
    first = 0
    joinedUpTo = Math.max(0, waiting.length - 1) // the last event may still be joined with the next one
    bytes = waiting.reduce((sum, event) => sum + sizeOf(event), 0)
  }

  return {
    push(event) {
      waiting.push(event)
      bytes += sizeOf(event)
      if (count() > limits.events) join()
      return count() <= 1 || (count() <= limits.events && bytes <= limits.bytes)
    },
    shift() {
      const event = waiting[first]
      if (event === undefined) return undefined
      first++
      bytes -= sizeOf(event)
      if (first * 2 >= waiting.length) {
        waiting.splice(0, first) // frees the taken events
        joinedUpTo = Math.max(0, joinedUpTo - first)
        first = 0
      }
      return event
    },
    hasRoom: () => count() * 2 <= limits.events && bytes * 2 <= limits.bytes,
    clear() {
      waiting = []
      first = joinedUpTo = bytes = 0
    },
    get size() {
      return count()
    },
  }
}

/** About how many bytes the fields of an event take, without its texts. */
const fieldBytes = 200
const entrySizes = new WeakMap<TurnEvent, number>()

/** About how many bytes an event takes. The sizes of entries are cached, because many followers get the same entry. */
function sizeOf(event: TurnEvent): number {
  if (event.type === 'lane.delta') return event.delta.text.length + fieldBytes
  if (event.type === 'status') return (event.text?.length ?? 0) + fieldBytes
  let size = entrySizes.get(event)
  if (size === undefined) {
    size = textSize(event.change) + fieldBytes
    entrySizes.set(event, size)
  }
  return size
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

/**
 * Whether `after` can be joined to `before`. A delta with the index 0 starts its lane again, so it can not be joined to an earlier delta.
 */
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
  const last = run.at(-1) as LaneEvent // the caller passes at least one delta
  const text = run.map(({ delta }) => delta.text).join('')
  return { ...last, delta: { ...last.delta, index: first.delta.index, text } }
}
