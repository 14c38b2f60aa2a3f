/** What a physical path may be (spec/tools.md §2.5), as far as it can be told without a disk. */

const maximumBytes = 1024
const maximumSegmentBytes = 255

// Controls, bidi marks and zero-width characters, lone surrogates, line separators: nobody can see what such a name says.
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

// URL parsers read `%2e%2e` as `..`, and some servers decode the rest: a name must not change its meaning on the way out.
const encodedDots = /^(?:\.|%2e){1,2}$/i
const encodedSeparator = /%(?:2f|5c|00)/i

// Also as a case-insensitive disk, or one that drops trailing dots and spaces, would read it.
const gitFolder = /^(?:\.git|git~1)[. ]*$/i

/** Why this can not be a path under OUT_DIR; undefined when it can. Meant to follow the words "the path". */
export function unsafeReason(physical: string): string | undefined {
  if (physical === '') return 'is empty'
  if (isLongerThan(maximumBytes, physical)) return `is longer than ${maximumBytes} bytes`
  if (physical.startsWith('/')) return 'is absolute'
  if (physical.includes('\\')) return 'has a backslash'
  if (invisible.test(physical)) return 'has a control or invisible character'
  if (physical.includes(':')) return 'has a colon'
  if (physical !== physical.normalize('NFC')) return 'is not in Unicode form NFC'
  for (const segment of physical.split('/')) {
    const reason = unsafeSegment(segment)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** The same, for a write: only the current turn's `files/` and `outputs/` may change; history and attachments are read-only. */
export function unwritableReason(physical: string, currentTurn: string): string | undefined {
  const inside = physical.startsWith(`${currentTurn}/files/`) || physical.startsWith(`${currentTurn}/outputs/`)
  return unsafeReason(physical) ?? (inside ? undefined : "is outside the current turn's files/ and outputs/")
}

function unsafeSegment(segment: string): string | undefined {
  if (segment === '') return 'has an empty segment'
  if (segment === '.' || segment === '..') return `has a "${segment}" segment`
  if (encodedDots.test(segment) || encodedSeparator.test(segment)) return 'has a percent-encoded dot segment or separator'
  if (gitFolder.test(segment)) return 'leads into .git'
  if (isLongerThan(maximumSegmentBytes, segment)) return `has a segment longer than ${maximumSegmentBytes} bytes`
  return undefined
}

const encoder = new TextEncoder()

/** In bytes of UTF-8, which are one to three per code unit: most names need no count. */
function isLongerThan(bytes: number, text: string): boolean {
  if (text.length * 3 <= bytes) return false
  return text.length > bytes || encoder.encode(text).length > bytes
}

/** Turn, call and conversation ids: no dot and no slash, so that a path can be read from left to right without guessing. */
const idShape = /^[A-Za-z0-9_-]+$/

export const isId = (text: string): boolean => idShape.test(text)

/** A folder is a turn's only if it looks like one or is known to be one: `notes/files/a.md` is an ordinary relative path. */
export function isTurnFolder(segment: string, knownTurns?: ReadonlySet<string>): boolean {
  return isId(segment) && !segment.startsWith('conv_') && (segment.startsWith('turn_') || knownTurns?.has(segment) === true)
}
