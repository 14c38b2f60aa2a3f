import type { LaneEvent } from '../event.ts'

/** The lanes that every client shows while the model writes them. Other lanes, such as a canvas, are for clients that know them. */
export type TextLane = 'thinking' | 'answer'

/** The lane of a delta; undefined when it is not one that every client shows. */
export const textLaneOf = ({ delta: { marker } }: LaneEvent): TextLane | undefined =>
  marker === 'thinking' || marker === 'answer' ? marker : undefined

interface Round {
  readonly turnId: string
  readonly iteration: number
}

/** Remembers which texts were shown live. A client that can only append must not show such a text again when its entry arrives. */
interface ShownTexts {
  add(round: Round, lane: TextLane): void
  /** Whether the text of this round was shown, in any attempt. */
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
