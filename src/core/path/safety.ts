/**
 * Why a text is not a safe path below OUT_DIR, worded to follow "The path"; undefined when it is safe.
 * Checks the text only; links and other dangers on the disk are handled by the `Files` port.
 */
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

/**
 * Like `unsafeReason`, for a write: only `files/` and `outputs/` of the current turn may change; earlier turns and attachments are
 * read-only.
 */
export function unwritableReason(physical: string, currentTurn: string): string | undefined {
  const isInside = physical.startsWith(`${currentTurn}/files/`) || physical.startsWith(`${currentTurn}/outputs/`)
  return unsafeReason(physical) ?? (isInside ? undefined : "is outside the current turn's files/ and outputs/")
}

function unsafeSegment(segment: string): string | undefined {
  if (segment === '') return 'has an empty segment'
  if (segment === '.' || segment === '..') return `has a "${segment}" segment`
  if (encodedDots.test(segment) || encodedSeparator.test(segment)) return 'has a percent-encoded dot segment or separator'
  if (gitFolder.test(segment)) return 'leads into .git'
  if (isLongerThan(maximumSegmentBytes, segment)) return `has a segment longer than ${maximumSegmentBytes} bytes`
  return undefined
}

const maximumBytes = 1024
const maximumSegmentBytes = 255

// Control, bidi and zero-width characters, lone surrogates, line separators: a name with these looks different from what it is.
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

// URL parsers read `%2e%2e` as `..`, and some servers decode separators: a name must mean the same in a URL.
const encodedDots = /^(?:\.|%2e){1,2}$/i
const encodedSeparator = /%(?:2f|5c|00)/i

// Includes the names that a case-insensitive disk, or one that drops trailing dots and spaces, takes for `.git`.
const gitFolder = /^(?:\.git|git~1)[. ]*$/i

const encoder = new TextEncoder()

/** Whether a text has more bytes in UTF-8. A UTF-16 unit takes at most three bytes, so short texts need not be encoded. */
function isLongerThan(bytes: number, text: string): boolean {
  if (text.length * 3 <= bytes) return false
  return text.length > bytes || encoder.encode(text).length > bytes
}

/** The characters of turn, call and conversation ids: no dot and no slash, so that a path can be parsed from left to right. */
const idShape = /^[A-Za-z0-9_-]+$/

export const isId = (text: string): boolean => idShape.test(text)

/** True for `turn_…` and for known turn ids. Otherwise `notes/files/a.md` is an ordinary relative path. */
export function isTurnFolder(segment: string, knownTurns?: ReadonlySet<string>): boolean {
  return isId(segment) && !segment.startsWith('conv_') && (segment.startsWith('turn_') || knownTurns?.has(segment) === true)
}
