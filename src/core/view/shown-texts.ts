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
