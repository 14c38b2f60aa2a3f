import { type Hunk, type HunkLine, type PatchError, patchError } from './hunk.ts'

/** A parsed unified diff of one file. */
export interface Patch {
  readonly ok: true
  readonly hunks: readonly Hunk[]
}

/** The greatest length of a patch, in characters. For a larger change the agent has to write the whole file. */
export const maxPatchLength = 1_048_576

/** True for a text that is meant as a diff. `react.patch` takes any other text as the new content of the file. */
export function isDiff(text: string): boolean {
  return /^\s*(?:---|\+\+\+|@@|diff --git )/.test(text)
}

/**
 * Parses a unified diff and tolerates small mistakes, such as wrong counts in headers. File names are used only to reject a patch for
 * several files.
 */
export function parsePatch(text: string): Patch | PatchError {
  if (text.length > maxPatchLength)
    return patchError('patch_too_large', `A patch has at most ${maxPatchLength} characters. Write the file anew.`)
  const lines = patchLines(text)
  const hunks: Hunk[] = []
  const files = new Set<string>()
  for (let at = 0; at < lines.length; ) {
    const file = fileHeaderAt(lines, at)
    if (file?.name !== undefined) files.add(file.name)
    if (files.size > 1)
      return patchError('patch_multiple_files', `The patch is for ${[...files].join(' and ')}. Send one patch for each file.`)
    const line = lines[at] as string // `at` is less than the length
    if (file || !line.startsWith('@@')) {
      at += file?.length ?? 1
      continue
    }
    const header = parseHunkHeader(line)
    if (!header) return patchError('invalid_hunk_header', `Line ${at + 1} of the patch is no hunk header such as "@@ -12,3 +12,4 @@".`)
    const body = readBody(lines, at + 1, header)
    if (!body.ok) return body
    at = body.end
    const { start, oldCount, section } = header
    if (body.lines.length > 0) hunks.push({ header: line, start, insertsAfter: oldCount === 0, section, lines: body.lines })
  }
  return hunks.length > 0 ? { ok: true, hunks } : noHunks
}

const noHunks = patchError(
  'no_hunks_found',
  'A text that begins with ---, +++ or @@ is read as a unified diff, and this one has no hunk with lines in it. To replace a file by a text that begins so, use react.write.',
)

/** The lines of a patch. If all of them end in CRLF, the lines do not contain the carriage returns. */
function patchLines(text: string): readonly string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const crlf = lines.every((line, index) => line.endsWith('\r') || (index === lines.length - 1 && !text.endsWith('\n')))
  return crlf ? lines.map((line) => line.replace(/\r$/, '')) : lines
}

type Body = { readonly ok: true; readonly lines: readonly HunkLine[]; readonly end: number }

const sides: ReadonlyMap<string, HunkLine['side']> = new Map([
  [' ', 'both'],
  ['-', 'old'],
  ['+', 'new'],
])

function readBody(lines: readonly string[], from: number, header: HunkHeader): Body | PatchError {
  const body: HunkLine[] = []
  const counts = { old: 0, new: 0 }
  let blanks = 0
  let at = from
  for (; at < lines.length; at++) {
    const line = lines[at] as string // `at` is less than the length
    const complete = counts.old >= header.oldCount && counts.new >= header.newCount
    if (line.startsWith('@@') || startsNextFile(lines, at, complete) || (complete && isSignature(lines, at))) break
    if (line.startsWith('\\')) {
      const last = body.pop()
      if (last) body.push({ ...last, withoutNewline: true })
      continue
    }
    const blank = line === '' || line === '\r'
    const side = blank ? 'both' : sides.get(line.charAt(0))
    if (side === undefined) return strayLine(at)
    body.push({ side, text: blank ? line : line.slice(1), number: at + 1 })
    blanks = blank ? blanks + 1 : 0
    if (side !== 'new') counts.old++
    if (side !== 'old') counts.new++
  }
  return { ok: true, lines: withoutTrailingBlanks(body, blanks), end: at }
}

const strayLine = (at: number) =>
  patchError(
    'invalid_hunk_line',
    `Line ${at + 1} of the patch begins with neither a space, "-", "+" nor "\\". A line that stays the same begins with a space.`,
  )

/** True at the two lines that `git format-patch` writes at the end of a patch: `-- ` and the version of git. */
const isSignature = (lines: readonly string[], at: number) => lines[at] === '-- ' && /^\d+\.\d+/.test(lines[at + 1] ?? '')

/**
 * Removes the blank lines at the end of a hunk, because they usually only separate hunks. They are not removed if the hunk has no other old
 * line, because its place in the file may have to be found by these blank lines.
 */
function withoutTrailingBlanks(body: readonly HunkLine[], blanks: number): readonly HunkLine[] {
  const rest = body.slice(0, body.length - blanks)
  return rest.some(({ side }) => side !== 'new') ? rest : body
}

/** The fields of `@@ -start,count +start,count @@ section`. The model may have written wrong counts. */
interface HunkHeader {
  readonly start: number
  readonly oldCount: number
  readonly newCount: number
  readonly section: string
}

const hunkShape = /^@@\s*-(\d{1,9})(?:,(\d{1,9}))?\s+\+\d{1,9}(?:,(\d{1,9}))?\s*@@(.*)$/s

function parseHunkHeader(line: string): HunkHeader | undefined {
  const [, start, oldCount = '1', newCount = '1', section = ''] = hunkShape.exec(line) ?? []
  return start === undefined ? undefined : { start: Number(start), oldCount: Number(oldCount), newCount: Number(newCount), section }
}

/**
 * Reads a file header that begins at this line. It has the two lines `--- a/x` and `+++ b/x`, or only the second one, or the line `diff
 * --git a/x b/x`. `length` is the number of its lines. Undefined when no file header begins at this line.
 */
function fileHeaderAt(lines: readonly string[], at: number): { readonly name: string | undefined; readonly length: number } | undefined {
  const [line = '', next = ''] = [lines[at], lines[at + 1]]
  if (line.startsWith('--- ') && next.startsWith('+++ ')) return { name: nameIn(next) ?? nameIn(line), length: 2 }
  if (line.startsWith('+++ ')) return { name: nameIn(line), length: 1 }
  return line.startsWith(gitHeader) ? { name: nameTwice(line.slice(gitHeader.length).trimEnd()), length: 1 } : undefined
}

/**
 * True when the header of another file begins at this line of a hunk. A line `--- x` may also mean that the line `-- x` is removed.
 * Therefore lines with `+++` and `@@` must follow it. In addition, one of these conditions must be true:
 * - The hunk already has as many lines as its header says.
 * - The `---` line and the `+++` line name the same file.
 * - One of the two lines names `/dev/null`.
 */
function startsNextFile(lines: readonly string[], at: number, complete: boolean): boolean {
  const [line = '', next = '', after = ''] = [lines[at], lines[at + 1], lines[at + 2]]
  if (line.startsWith(gitHeader)) return true
  if (!line.startsWith('--- ') || !next.startsWith('+++ ') || !after.startsWith('@@')) return false
  return complete || nameIn(line) === undefined || nameIn(next) === undefined || nameIn(line) === nameIn(next)
}

const gitHeader = 'diff --git '

/**
 * The file name in the two names `a/x b/x` of a `diff --git` line. Undefined when the two names differ. In this case the following lines
 * with `---` and `+++` have the name.
 */
function nameTwice(names: string): string | undefined {
  const middle = (names.length - 1) / 2
  if (names[middle] !== ' ') return undefined
  const name = plainName(names.slice(0, middle))
  return name === plainName(names.slice(middle + 1)) ? name : undefined
}

/** The file name in a `---` or `+++` line. Undefined for `/dev/null`. */
function nameIn(line: string): string | undefined {
  const name = plainName(line.slice(4).split('\t', 1)[0] ?? '')
  return name === '/dev/null' ? undefined : name
}

/** Removes quotes, `./` and the prefixes of git, such as `a/` and `b/`. */
function plainName(name: string): string {
  const bare = name.trim().replace(/^"(.*)"$/s, '$1')
  return bare.replace(/^(?:\.\/)+/, '').replace(/^[abciow]\//, '')
}

/**
 * True when the lines of the patch begin with line numbers that the model copied from the output of `react.read`. False if the lines of the
 * file itself begin with numbers.
 */
export function hasPreviewNumbers(patch: string, target: string): boolean {
  return looksCopied(patch) && !looksNumbered(target.split('\n'))
}

const numbered = /^ *\d+\t/
const previewMarker = /^[ +-]?(?:\[READ (?:RANGE|PREVIEW)\]|(?:lines|symbols): \[\d+-\d+\]\/\d+)/m

function looksCopied(patch: string): boolean {
  const lines = patch.split('\n')
  const content = isDiff(patch) ? lines.filter((line) => /^[ +-](?!--|\+\+)/.test(line)).map((line) => line.slice(1)) : lines
  return looksNumbered(content) || (previewMarker.test(patch) && content.some((line) => numbered.test(line)))
}

function looksNumbered(lines: readonly string[]): boolean {
  const count = lines.filter((line) => numbered.test(line)).length
  return count >= 5 || (count >= 2 && count >= lines.length * 0.35)
}
