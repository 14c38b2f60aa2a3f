/** Turn, call and conversation ids: no dot and no slash, so that a path can be read from left to right without guessing. */
const idShape = /^[A-Za-z0-9_-]+$/

export const isId = (text: string): boolean => idShape.test(text)

/** A folder is a turn's only if it looks like one or is known to be one: `notes/files/a.md` is an ordinary relative path. */
export function isTurnFolder(segment: string, knownTurns?: ReadonlySet<string>): boolean {
  return isId(segment) && !segment.startsWith('conv_') && (segment.startsWith('turn_') || knownTurns?.has(segment) === true)
}
