import type { LaneEvent } from '../event.ts'

/** The lanes that every client shows live. Other lanes, such as `canvas`, are shown only by clients that know them. */
export type TextLane = 'thinking' | 'answer'

/** The lane of a delta. Undefined for lanes that only some clients show. */
export const textLaneOf = ({ delta: { marker } }: LaneEvent): TextLane | undefined =>
  marker === 'thinking' || marker === 'answer' ? marker : undefined

interface Round {
  readonly turnId: string
  readonly iteration: number
}

/**
 * Remembers which texts were shown live. A client that only appends text, such as a terminal, must not show the text again when its entry
 * arrives.
 */
interface ShownTexts {
  add(round: Round, lane: TextLane): void
  /** Whether the text of this round was shown, in any attempt of the model call. */
  has(round: Round, lane: TextLane): boolean
}

export function createShownTexts(): ShownTexts {
  const shown = new Set<string>()
  const keyOf = ({ turnId, iteration }: Round, lane: TextLane) => `${turnId} ${iteration} ${lane}`
  return {
    add: (round, lane) => void shown.add(keyOf(round, lane)),
    has: (round, lane) => shown.has(keyOf(round, lane)),
  }
}

/**
 * Makes a function that names the text to which a piece belongs. If a process died while the model wrote, another process repeats the call,
 * and its pieces begin again with the index 0 and the same `attempt`. These pieces belong to another text, which gets another name.
 */
export function createTextNames(): (event: LaneEvent, lane: TextLane) => string {
  const beginnings = new Map<string, number>()
  return ({ turn_id: turnId, iteration, attempt, delta: { artifact_name, format, index } }, lane) => {
    const name = `${turnId}.${iteration}.${lane}.${attempt}`
    const key = `${name} ${artifact_name} ${format}`
    const before = beginnings.get(key) ?? 0
    if (index === 0) beginnings.set(key, before + 1)
    const restarts = index === 0 ? before : before - 1
    return restarts > 0 ? `${name}.${restarts}` : name
  }
}
