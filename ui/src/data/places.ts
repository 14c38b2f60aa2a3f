/** Where a reader was in a conversation: the first turn on the screen, and how far it was scrolled. */
export interface Place {
  readonly turn: string
  readonly offset: number
}

const keyOf = (id: string) => `daybook.place.${id}`

export function readPlace(id: string): Place | undefined {
  const stored = sessionStorage.getItem(keyOf(id))
  if (stored === null) return undefined
  const [turn = '', offset = ''] = stored.split(' ')
  return Number.isFinite(Number(offset)) ? { turn, offset: Number(offset) } : undefined
}

/** Stores a place until the tab is closed. Without a place, the conversation opens at its end. */
export function writePlace(id: string, place: Place | undefined): void {
  if (place) sessionStorage.setItem(keyOf(id), `${place.turn} ${Math.round(place.offset)}`)
  else sessionStorage.removeItem(keyOf(id))
}
