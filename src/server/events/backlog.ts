import type { LaneEvent, TurnEvent } from '../../core/event.ts'

/** Events that a client has yet to be sent. A slow client gets fewer, larger pieces of text; one that is slower still must start over. */
export interface Backlog {
  /** False when there is more than the client can be expected to catch up with: it is over. */
  push(event: TurnEvent): boolean
  /** Everything that waits. */
  drain(): readonly TurnEvent[]
  readonly size: number
}

export const defaultMaxBacklog = 1000

export function createBacklog(limit = defaultMaxBacklog): Backlog {
  let waiting: TurnEvent[] = []
  let joinedUpTo = 0 // what lies before was already joined as far as it can be
  return {
    push(event) {
      waiting.push(event)
      if (waiting.length <= limit) return true
      const joined = [...waiting.slice(0, joinedUpTo), ...joinDeltas(waiting.slice(joinedUpTo))]
      const grew = joined.length > limit
      waiting = joined
      joinedUpTo = Math.max(0, joined.length - 1) // the last may still grow
      return !grew
    },
    drain() {
      const taken = waiting
      waiting = []
      joinedUpTo = 0
      return taken
    },
    get size() {
      return waiting.length
    },
  }
}

/** Consecutive pieces of one lane become one piece. */
export function joinDeltas(events: readonly TurnEvent[]): TurnEvent[] {
  const joined: TurnEvent[] = []
  let run: LaneEvent[] = []
  const end = () => {
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
    end()
    if (event.type === 'lane.delta') run.push(event)
    else joined.push(event)
  }
  end()
  return joined
}

/** Index 0 starts a lane anew, so it is never joined to what came before. */
function continues(before: LaneEvent, after: LaneEvent): boolean {
  const [a, b] = [before.delta, after.delta]
  return (
    b.index > 0 &&
    !a.completed &&
    before.turn_id === after.turn_id &&
    before.iteration === after.iteration &&
    before.attempt === after.attempt &&
    a.marker === b.marker &&
    a.artifactName === b.artifactName &&
    a.format === b.format
  )
}

/** Keeps the first index, so that a lane's beginning stays its beginning. */
function joinRun(run: readonly LaneEvent[]): LaneEvent {
  const [first] = run as [LaneEvent]
  const last = run.at(-1) as LaneEvent // a run is never empty
  const text = run.map(({ delta }) => delta.text).join('')
  return { ...last, delta: { ...last.delta, index: first.delta.index, text } }
}
