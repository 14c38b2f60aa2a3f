import { cutAt } from '../cut.ts'
import { unguardHeadings } from '../render/headings.ts'
import { diagnoseMismatch, type MismatchDiagnostic } from './diagnose.ts'
import { type Hunk, type HunkLine, joinLines, newLines, oldLines, type PatchError, patchError, splitLines, type TextLines } from './hunk.ts'
import { createLocator, type Locator } from './locate.ts'

/** The result of a patch that was applied. */
export interface AppliedPatch {
  readonly ok: true
  readonly text: string
  readonly before: TextLines
  readonly after: TextLines
  readonly placements: readonly HunkPlacement[]
  /** The number of line comparisons that were needed to find the places of the hunks. */
  readonly comparisons: number
}

/** The place in the old text at which a hunk was applied. */
export interface HunkPlacement {
  readonly hunk: Hunk
  /** The index of the hunk's first line in the old text. */
  readonly index: number
  /** True when the hunk was applied at another line than its header says. */
  readonly moved: boolean
}

/** Why a patch was not applied. If the old lines of a hunk are not in the text, `diagnostic` tells how far they matched. */
export type ApplyError = PatchError & { readonly diagnostic?: MismatchDiagnostic }

/**
 * Applies all hunks or none. A hunk is applied at the line number in its header. If its old lines are not there, it is applied at the
 * nearest place after the previous hunk at which they match exactly.
 *
 * If the patch does not match and has no CRLF, but every line of the text ends in CRLF, the patch is tried again with CRLF. The patch is
 * also tried without the backslashes that `guardHeadings` adds. Prompts have such a backslash before each line that looks like a heading,
 * and the model may copy it into the patch.
 */
export function applyPatch(hunks: readonly Hunk[], text: string): AppliedPatch | ApplyError {
  const asWritten = applyWithEndings(hunks, text)
  if (asWritten.ok) return asWritten
  const unguarded = withoutGuards(hunks)
  const result = unguarded && applyWithEndings(unguarded, text)
  return result?.ok ? result : asWritten
}

/** The hunks without the backslashes that `guardHeadings` adds. Undefined when the hunks have no such backslash. */
function withoutGuards(hunks: readonly Hunk[]): readonly Hunk[] | undefined {
  let found = false
  const unguard = (line: HunkLine): HunkLine => {
    const plain = unguardHeadings(line.text)
    found ||= plain !== line.text
    return { ...line, text: plain }
  }
  const unguarded = hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(unguard) }))
  return found ? unguarded : undefined
}

function applyWithEndings(hunks: readonly Hunk[], text: string): AppliedPatch | ApplyError {
  const asWritten = applyTo(splitLines(text, { uniform: false }), hunks)
  if (asWritten.ok || hunks.some(({ lines }) => lines.some((line) => line.text.endsWith('\r')))) return asWritten
  const crlf = splitLines(text, { uniform: true })
  return crlf.ending === '\r\n' ? applyTo(crlf, hunks) : asWritten
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
  const placements: HunkPlacement[] = []
  let end = 0
  for (const [index, hunk] of hunks.entries()) {
    const placement = locate(hunk, lines.length, end, locator)
    if (placement === 'out of order') return outOfOrder(hunk, index, end)
    if (placement === 'no match') return locator.exhausted ? tooCostly(hunk, index) : mismatch(hunk, index, lines, locator)
    placements.push(placement)
    end = placement.index + oldLines(hunk).length
  }
  return { ok: true, placements, comparisons: locator.comparisons }
}

/** Finds the place of a hunk. `end` is the index of the first line after the previous hunk. */
function locate(hunk: Hunk, count: number, end: number, locator: Locator): HunkPlacement | 'out of order' | 'no match' {
  const old = oldLines(hunk)
  const wanted = wantedIndex(hunk, old.length)
  const run = locator.runOf(old.map((line) => line.text))
  const matches = old.length === 0 ? wanted <= count : locator.matchesAt(run, wanted)
  if (matches) return wanted < end ? 'out of order' : { hunk, index: wanted, moved: false }
  if (old.length === 0) return 'no match' // the hunk has no old lines, so its place can not be searched
  const index = locator.nearest(run, wanted, end, count)
  if (index !== undefined) return { hunk, index, moved: true }
  return end > 0 && locator.nearest(run, wanted, 0, end) !== undefined ? 'out of order' : 'no match'
}

function wantedIndex({ start, insertsAfter }: Hunk, oldCount: number): number {
  return insertsAfter && oldCount === 0 ? start : Math.max(0, start - 1)
}

function replaceLines(before: TextLines, placements: readonly HunkPlacement[]): TextLines {
  const lines: string[] = []
  let copied = 0
  for (const { hunk, index } of placements) {
    for (; copied < index; copied++) lines.push(before.lines[copied] as string) // `copied` is less than the number of lines
    for (const line of newLines(hunk)) lines.push(line.text)
    copied = index + oldLines(hunk).length
  }
  for (; copied < before.lines.length; copied++) lines.push(before.lines[copied] as string)
  return { lines, ending: before.ending, endsInNewline: resultEndsInNewline(before, placements.at(-1)) }
}

/** True when the new text ends in a newline. Only a hunk at the end of the old text can change this. */
function resultEndsInNewline(before: TextLines, last: HunkPlacement | undefined): boolean {
  if (!last) return before.endsInNewline
  const old = oldLines(last.hunk)
  if (last.index + old.length < before.lines.length) return before.endsInNewline
  if (newLines(last.hunk).at(-1)?.withoutNewline) return false
  return before.endsInNewline || old.at(-1)?.withoutNewline === true
}

const hunkName = (hunk: Hunk, index: number) => `Hunk ${index + 1} (${cutAt(hunk.header, 80)})`

const outOfOrder = (hunk: Hunk, index: number, end: number) =>
  patchError(
    'hunk_out_of_order',
    `${hunkName(hunk, index)} stands before line ${end + 1}, where the hunk before it ends. Give hunks in the order of the file and without overlap. Nothing was changed.`,
  )

const tooCostly = (hunk: Hunk, index: number) =>
  patchError(
    'patch_too_costly',
    `${hunkName(hunk, index)} is not at its line number, and a search did not find its place, because too many lines of the file are alike. Correct the line numbers, or replace the whole file. Nothing was changed.`,
  )

function mismatch(hunk: Hunk, index: number, lines: readonly string[], locator: Locator): ApplyError {
  const diagnostic = diagnoseMismatch(hunk, index, lines, locator)
  const message = `${hunkName(hunk, index)} does not match the file. ${describeMismatch(diagnostic)} Nothing was changed.`
  return { ...patchError('hunk_mismatch', message), diagnostic }
}

function describeMismatch({ first_mismatch: first, requested_start_line: start, target_line_count: count }: MismatchDiagnostic): string {
  if (!first) return `It inserts at line ${start}; the file has ${count}.`
  const found = first.actual === null ? 'the file has already ended' : `there is ${JSON.stringify(first.actual)}`
  return `At line ${first.target_line} it expects ${JSON.stringify(first.expected)}; ${found}.`
}

/** Formats a patch as it was applied, with correct counts and line numbers. `path` is the name of the file in its header. */
export function formatPatch(path: string, applied: Pick<AppliedPatch, 'before' | 'after' | 'placements'>): string {
  const name = path.includes(' ') ? `${path}\t` : path // diff and git also write a tab after a name with spaces
  const parts = [`--- ${name}\n+++ ${name}\n`]
  let shift = 0
  for (const placement of applied.placements) {
    const [old, fresh] = [oldLines(placement.hunk).length, newLines(placement.hunk).length]
    const section = placement.hunk.section.trimEnd()
    parts.push(`@@ -${range(placement.index, old)} +${range(placement.index + shift, fresh)} @@${section}\n`)
    for (const text of hunkText(placement, shift, applied)) parts.push(text)
    shift += fresh - old
  }
  return parts.join('')
}

/** A range in a hunk header. For an empty range it has the number of the line before the range. */
const range = (index: number, count: number) => `${count === 0 ? index : index + 1},${count}`

const missingNewline = '\n\\ No newline at end of file\n'

function* hunkText({ hunk, index }: HunkPlacement, shift: number, { before, after }: Pick<AppliedPatch, 'before' | 'after'>) {
  let oldIndex = index
  let newIndex = index + shift
  for (const line of hunk.lines) {
    const old = line.side === 'new' ? '' : lineWithEnd(line, before, oldIndex++)
    const fresh = line.side === 'old' ? '' : lineWithEnd(line, after, newIndex++)
    if (line.side === 'both' && old === fresh) yield ` ${old}`
    // If only the newline at the end of the line changes, the line is removed and added again.
    else yield `${old && `-${old}`}${fresh && `+${fresh}`}`
  }
}

function lineWithEnd({ text }: HunkLine, { lines, ending, endsInNewline }: TextLines, index: number): string {
  return index === lines.length - 1 && !endsInNewline ? `${text}${missingNewline}` : `${text}${ending}`
}
