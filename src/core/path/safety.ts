/**
 * Why a text is not a safe physical path; undefined when it is safe. The reason continues a sentence that begins with "The path". This
 * function checks only the text. The `Files` port rejects links and devices on the disk.
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
 * Why the agent may not write to a path; undefined when it may. The path must be safe and below `files/` or `outputs/` of the current turn.
 * Earlier turns and attachments are read-only.
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
/** The longest name, in UTF-8 bytes, that file systems accept for a file or folder. */
export const maximumSegmentBytes = 255

// These characters are invisible or change the order in which a name is shown: control, bidi and zero-width characters, line separators,
// halves of surrogate pairs. With them, two names can look the same.
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

// Paths become parts of URLs. A URL parser reads `%2e%2e` as `..`, and some servers decode `%2f` to a slash.
const encodedDots = /^(?:\.|%2e){1,2}$/i
const encodedSeparator = /%(?:2f|5c|00)/i

// Some disks ignore case or drop dots and spaces at the end of a name. Windows also has short names such as `git~1`. The pattern matches
// all names under which such a disk finds the folder `.git`.
const gitFolder = /^(?:\.git|git~1)[. ]*$/i

const encoder = new TextEncoder()

/**
 * Whether a text has more than `bytes` bytes in UTF-8. One character of a JavaScript string takes at most 3 bytes, so a short text need not
 * be encoded.
 */
function isLongerThan(bytes: number, text: string): boolean {
  if (text.length * 3 <= bytes) return false
  return text.length > bytes || encoder.encode(text).length > bytes
}

/** Turn, call and conversation ids contain no dot and no slash. Therefore the first dot or slash of a path ends its first id. */
const idShape = /^[A-Za-z0-9_-]+$/

export const isId = (text: string): boolean => idShape.test(text)

/**
 * Whether the text can be the id of a turn in a path. A text that begins with `conv_` can not, because `conv_` begins the id of a
 * conversation.
 */
export const isTurnId = (text: string): boolean => isId(text) && !text.startsWith('conv_')

/**
 * Whether the first segment of a path is a turn id: it begins with `turn_` or is in `knownTurns`. For `notes`, as in `notes/files/a.md`,
 * this is false.
 */
export function isTurnFolder(segment: string, knownTurns?: ReadonlySet<string>): boolean {
  return isTurnId(segment) && (segment.startsWith('turn_') || knownTurns?.has(segment) === true)
}
