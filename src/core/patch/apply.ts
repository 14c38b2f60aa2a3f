import { diagnoseMismatch, type MismatchDiagnostic } from './diagnose.ts'
import { type Hunk, type HunkLine, joinLines, newLines, oldLines, type PatchError, patchError, splitLines, type TextLines } from './hunk.ts'
import { createLocator, type Locator } from './locate.ts'

/** What came of a patch: the new text, and where each hunk went. */
export interface AppliedPatch {
  readonly ok: true
  readonly text: string
  readonly before: TextLines
  readonly after: TextLines
  readonly placements: readonly HunkPlacement[]
  /** How many lines were compared to find the places. */
  readonly comparisons: number
}

export interface HunkPlacement {
  readonly hunk: Hunk
  /** Index of its first line in the old text. */
  readonly index: number
  /** It was not where its header said. */
  readonly moved: boolean
}

/** Nothing was changed. `diagnostic` says how far a hunk that stands nowhere would have matched. */
export type ApplyError = PatchError & { readonly diagnostic?: MismatchDiagnostic }

/**
 * Applies all hunks or none. A hunk goes where its header says; if its old lines do not stand there, to the nearest place at or after
 * the end of the hunk before it where they do, to the letter. Where every line of the text ends in CRLF and no line of the patch does,
 * a patch that does not fit as it is written is read as if its lines ended so, too.
 */
export function applyPatch(hunks: readonly Hunk[], text: string): AppliedPatch | ApplyError {
  const asWritten = applyTo(splitLines(text, { uniform: false }), hunks)
  if (asWritten.ok || hunks.some(({ lines }) => lines.some((line) => line.text.endsWith('\r')))) return asWritten
  const carried = splitLines(text, { uniform: true })
  return carried.ending === '\r\n' ? applyTo(carried, hunks) : asWritten
}

function applyTo(before: TextLines, hunks: readonly Hunk[]): AppliedPatch | ApplyError {
  const located = locateAll(hunks, before.lines)
  if (!located.ok) return located
  const after = replaceLines(before, located.placements)
  return { ok: true, text: joinLines(after), before, after, placements: located.placements, comparisons: located.comparisons }
}

type HunkLocations = { readonly ok: true } & Pick<AppliedPatch, 'placements' | 'comparisons'>

function locateAll(hunks: readonly Hunk[], lines: readonly string[]): HunkLocations | ApplyError {
  const locator = createLocator(lines)
  const placed: HunkPlacement[] = []
  let end = 0
  for (const [index, hunk] of hunks.entries()) {
    const found = locate(hunk, lines.length, end, locator)
    if (found === 'out of order') return outOfOrder(hunk, index, end)
    if (found === 'nowhere') return locator.exhausted ? tooCostly(hunk, index) : mismatch(hunk, index, lines, locator)
    placed.push(found)
    end = found.index + oldLines(hunk).length
  }
  return { ok: true, placements: placed, comparisons: locator.comparisons }
}

/** `end`: where the hunk before it ends. */
function locate(hunk: Hunk, count: number, end: number, locator: Locator): HunkPlacement | 'out of order' | 'nowhere' {
  const old = oldLines(hunk)
  const wanted = wantedIndex(hunk, old.length)
  const run = locator.runOf(old.map((line) => line.text))
  const stands = old.length === 0 ? wanted <= count : locator.matchesAt(run, wanted)
  if (stands) return wanted < end ? 'out of order' : { hunk, index: wanted, moved: false }
  if (old.length === 0) return 'nowhere' // nothing to look for
  const index = locator.nearest(run, wanted, end, count)
  if (index !== undefined) return { hunk, index, moved: true }
  return end > 0 && locator.nearest(run, wanted, 0, end) !== undefined ? 'out of order' : 'nowhere'
}

function wantedIndex({ start, insertsAfter }: Hunk, oldCount: number): number {
  return insertsAfter && oldCount === 0 ? start : Math.max(0, start - 1)
}

function replaceLines(before: TextLines, placed: readonly HunkPlacement[]): TextLines {
  const lines: string[] = []
  let copied = 0
  for (const { hunk, index } of placed) {
    for (; copied < index; copied++) lines.push(before.lines[copied] as string) // index is inside
    for (const line of newLines(hunk)) lines.push(line.text)
    copied = index + oldLines(hunk).length
  }
  for (; copied < before.lines.length; copied++) lines.push(before.lines[copied] as string)
  return { lines, ending: before.ending, endsInNewline: resultEndsInNewline(before, placed.at(-1)) }
}

/** Only the hunk that reaches the end of the text can say how it ends; one that says nothing leaves it as it was. */
function resultEndsInNewline(before: TextLines, last: HunkPlacement | undefined): boolean {
  if (!last) return before.endsInNewline
  const old = oldLines(last.hunk)
  if (last.index + old.length < before.lines.length) return before.endsInNewline
  if (newLines(last.hunk).at(-1)?.withoutNewline) return false
  return before.endsInNewline || old.at(-1)?.withoutNewline === true
}

const hunkName = (hunk: Hunk, index: number) => `Hunk ${index + 1} (${hunk.header.slice(0, 80)})`

const outOfOrder = (hunk: Hunk, index: number, end: number) =>
  patchError(
    'hunk_out_of_order',
    `${hunkName(hunk, index)} stands before line ${end + 1}, where the hunk before it ends. Give hunks in the order of the file and without overlap. Nothing was changed.`,
  )

const tooCostly = (hunk: Hunk, index: number) =>
  patchError(
    'patch_too_costly',
    `The lines of this file are too much alike to find ${hunkName(hunk, index)} without a sound line number. Correct the line numbers, or replace the whole file. Nothing was changed.`,
  )

function mismatch(hunk: Hunk, index: number, lines: readonly string[], locator: Locator): ApplyError {
  const diagnostic = diagnoseMismatch(hunk, index, lines, locator)
  const message = `${hunkName(hunk, index)} does not match the file. ${differenceIn(diagnostic)} Nothing was changed.`
  return { ...patchError('hunk_mismatch', message), diagnostic }
}

function differenceIn({ first_mismatch: first, requested_start_line: start, target_line_count: count }: MismatchDiagnostic): string {
  if (!first) return `It inserts at line ${start}; the file has ${count}.`
  const found = first.actual === null ? 'the file has already ended' : `there is ${JSON.stringify(first.actual)}`
  return `At line ${first.target_line} it expects ${JSON.stringify(first.expected)}; ${found}.`
}

/** The patch as it was applied: right counts, right line numbers, and one file, `path`, in its header. */
export function formatPatch(path: string, applied: Pick<AppliedPatch, 'before' | 'after' | 'placements'>): string {
  const name = path.includes(' ') ? `${path}\t` : path // as diff and git write it: the name ends at the tab
  const parts = [`--- ${name}\n+++ ${name}\n`]
  let shift = 0
  for (const placed of applied.placements) {
    const [old, fresh] = [oldLines(placed.hunk).length, newLines(placed.hunk).length]
    const section = placed.hunk.section.trimEnd()
    parts.push(`@@ -${range(placed.index, old)} +${range(placed.index + shift, fresh)} @@${section}\n`)
    for (const text of hunkText(placed, shift, applied)) parts.push(text)
    shift += fresh - old
  }
  return parts.join('')
}

/** A range without lines is named by the line before it. */
const range = (index: number, count: number) => `${count === 0 ? index : index + 1},${count}`

const missingNewline = '\n\\ No newline at end of file\n'

function* hunkText({ hunk, index }: HunkPlacement, shift: number, { before, after }: Pick<AppliedPatch, 'before' | 'after'>) {
  let [inOld, inNew] = [index, index + shift]
  for (const line of hunk.lines) {
    const old = line.side === 'new' ? '' : lineWithEnd(line, before, inOld++)
    const fresh = line.side === 'old' ? '' : lineWithEnd(line, after, inNew++)
    if (line.side === 'both' && old === fresh) yield ` ${old}`
    else yield `${old && `-${old}`}${fresh && `+${fresh}`}` // only the end of the line differs: it goes and comes back
  }
}

function lineWithEnd({ text }: HunkLine, { lines, ending, endsInNewline: closed }: TextLines, index: number): string {
  return index === lines.length - 1 && !closed ? `${text}${missingNewline}` : `${text}${ending}`
}
