/**
 * Why a text is not a safe path below OUT_DIR; undefined when it is safe. The reason continues a sentence that begins with "The path".
 * Only the text is checked. The `Files` port protects against links and other dangers on the disk.
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
 * Why a path may not be written; undefined when it may. It has to be safe and below `files/` or `outputs/` of the current turn, because
 * earlier turns and attachments are read-only.
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
/** The longest name that file systems accept for a file or folder. */
export const maximumSegmentBytes = 255

// A name with control, bidi or zero-width characters, lone surrogates or line separators looks different from what it is.
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

// A name must mean the same in a URL, but URL parsers read `%2e%2e` as `..` and some servers decode separators.
const encodedDots = /^(?:\.|%2e){1,2}$/i
const encodedSeparator = /%(?:2f|5c|00)/i

// Some disks ignore case, drop trailing dots and spaces, or have short names such as `git~1`. All names that lead to `.git` there match.
const gitFolder = /^(?:\.git|git~1)[. ]*$/i

const encoder = new TextEncoder()

/** Whether a text has more than `bytes` bytes in UTF-8. A UTF-16 unit takes at most three, so short texts need not be encoded. */
function isLongerThan(bytes: number, text: string): boolean {
  if (text.length * 3 <= bytes) return false
  return text.length > bytes || encoder.encode(text).length > bytes
}

/** The form of turn, call and conversation ids. They contain no dot and no slash, so that a path can be parsed from left to right. */
const idShape = /^[A-Za-z0-9_-]+$/

export const isId = (text: string): boolean => idShape.test(text)

/** Whether a segment names a turn: it begins with `turn_` or is a known turn id. In `notes/files/a.md` the first segment does not. */
export function isTurnFolder(segment: string, knownTurns?: ReadonlySet<string>): boolean {
  return isId(segment) && !segment.startsWith('conv_') && (segment.startsWith('turn_') || knownTurns?.has(segment) === true)
}
