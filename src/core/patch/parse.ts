import { type Hunk, type HunkLine, type PatchError, patchError } from './hunk.ts'

export interface Patch {
  readonly ok: true
  readonly hunks: readonly Hunk[]
}

/** In characters. Whoever needs more writes the file anew. */
export const maxPatchLength = 1_048_576

/** Whether a text is meant as changes to a file; any other text is meant as the file itself. */
export function isDiff(text: string): boolean {
  return /^\s*(?:---|\+\+\+|@@|diff --git )/.test(text)
}

/** A unified diff of one file, read leniently. Which file it names is only looked at to refuse two of them. */
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
    const line = lines[at] as string // at < length
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

/** Written on a system where all lines end in CRLF, the carriage returns are not part of what the patch says. */
function patchLines(text: string): readonly string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const carried = lines.every((line, index) => line.endsWith('\r') || (index === lines.length - 1 && !text.endsWith('\n')))
  return carried ? lines.map((line) => line.replace(/\r$/, '')) : lines
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
    const line = lines[at] as string // at < length
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

/** `git format-patch` ends with its version. */
const isSignature = (lines: readonly string[], at: number) => lines[at] === '-- ' && /^\d+\.\d+/.test(lines[at + 1] ?? '')

/** Bare blank lines after a hunk part it from the next; they are context only where there is no other. */
function withoutTrailingBlanks(body: readonly HunkLine[], blanks: number): readonly HunkLine[] {
  const rest = body.slice(0, body.length - blanks)
  return rest.some(({ side }) => side !== 'new') ? rest : body
}

/** What `@@ -start,count +start,count @@ section` says. The counts are a claim: nothing fails because they are wrong. */
export interface HunkHeader {
  readonly start: number
  readonly oldCount: number
  readonly newCount: number
  readonly section: string
}

const hunkShape = /^@@\s*-(\d{1,9})(?:,(\d{1,9}))?\s+\+\d{1,9}(?:,(\d{1,9}))?\s*@@(.*)$/s

export function parseHunkHeader(line: string): HunkHeader | undefined {
  const [, start, oldCount = '1', newCount = '1', section = ''] = hunkShape.exec(line) ?? []
  return start === undefined ? undefined : { start: Number(start), oldCount: Number(oldCount), newCount: Number(newCount), section }
}

/** The file that a header here names, and how many lines it takes. Undefined when there is no header here. */
export function fileHeaderAt(
  lines: readonly string[],
  at: number,
): { readonly name: string | undefined; readonly length: number } | undefined {
  const [line = '', next = ''] = [lines[at], lines[at + 1]]
  if (line.startsWith('--- ') && next.startsWith('+++ ')) return { name: nameIn(next) ?? nameIn(line), length: 2 }
  if (line.startsWith('+++ ')) return { name: nameIn(line), length: 1 }
  return line.startsWith(gitHeader) ? { name: nameTwice(line.slice(gitHeader.length).trimEnd()), length: 1 } : undefined
}

/**
 * Inside a hunk `--- x` may also take away the line `-- x`. It is the header of the next part when a `+++` and a hunk follow, and
 * either the hunk is complete by its own counts or both lines name the same file.
 */
export function startsNextFile(lines: readonly string[], at: number, complete: boolean): boolean {
  const [line = '', next = '', after = ''] = [lines[at], lines[at + 1], lines[at + 2]]
  if (line.startsWith(gitHeader)) return true
  if (!line.startsWith('--- ') || !next.startsWith('+++ ') || !after.startsWith('@@')) return false
  return complete || nameIn(line) === undefined || nameIn(next) === undefined || nameIn(line) === nameIn(next)
}

const gitHeader = 'diff --git '

/** `a/x b/x`: the one name. Undefined where the two differ: the lines that follow tell. */
function nameTwice(names: string): string | undefined {
  const middle = (names.length - 1) / 2
  if (names[middle] !== ' ') return undefined
  const name = plainName(names.slice(0, middle))
  return name === plainName(names.slice(middle + 1)) ? name : undefined
}

/** Undefined for the file that is not there. */
function nameIn(line: string): string | undefined {
  const name = plainName(line.slice(4).split('\t', 1)[0] ?? '')
  return name === '/dev/null' ? undefined : name
}

/** Without quotes, and without the `a/` and `b/` of git. */
function plainName(name: string): string {
  const bare = name.trim().replace(/^"(.*)"$/s, '$1')
  return bare.replace(/^(?:\.\/)+/, '').replace(/^[abciow]\//, '')
}

/**
 * Line numbers are shown to point at lines; they are not part of them. True for a patch that was copied from such a view, unless
 * the file looks like that itself.
 */
export function hasPreviewNumbers(patch: string, target: string): boolean {
  return looksCopied(patch) && !looksNumbered(target.split('\n'))
}

const numbered = /^ *\d+\t/
const previewMarker = /^[ +-]?(?:\[READ (?:RANGE|PREVIEW)\]|(?:lines|symbols): \[\d+-\d+\]\/\d+)/m

function looksCopied(patch: string): boolean {
  const lines = patch.split('\n')
  const shown = isDiff(patch) ? lines.filter((line) => /^[ +-](?!--|\+\+)/.test(line)).map((line) => line.slice(1)) : lines
  return looksNumbered(shown) || (previewMarker.test(patch) && shown.some((line) => numbered.test(line)))
}

function looksNumbered(lines: readonly string[]): boolean {
  const count = lines.filter((line) => numbered.test(line)).length
  return count >= 5 || (count >= 2 && count >= lines.length * 0.35)
}
