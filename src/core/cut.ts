// Functions that cut texts which people or models read. They never split a surrogate pair, because half of a pair is not a character.

/** The first `limit` UTF-16 units of a text. If this would split a surrogate pair, the result is one unit shorter. */
export function cutAt(text: string, limit: number): string {
  const end = Math.max(0, limit)
  return text.slice(0, isInsidePair(text, end) ? end - 1 : end)
}

/** The part of a text between two positions. A position inside a surrogate pair is moved before the pair. */
export function cutBetween(text: string, from: number, to: number): string {
  const start = Math.max(0, from)
  return cutAt(text, to).slice(isInsidePair(text, start) ? start - 1 : start)
}

/** The last `limit` UTF-16 units of a text. If this would split a surrogate pair, the result is one unit shorter. */
export function cutEnd(text: string, limit: number): string {
  const start = Math.max(0, text.length - limit)
  return text.slice(isInsidePair(text, start) ? start + 1 : start)
}

/** Cuts a text to at most `limit` UTF-16 units. A cut text ends in `…`. */
export const ellipsize = (text: string, limit: number): string => (text.length <= limit ? text : `${cutAt(text, limit - 1)}…`)

/** True when the position is between the two halves of a surrogate pair. */
export const isInsidePair = (text: string, at: number): boolean => isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at))

const isHigh = (unit: number) => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff
