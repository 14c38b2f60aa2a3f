import { diagnose, type MismatchDiagnostic } from './diagnose.ts'
import { type Hunk, newLines, oldLines, type Refused, refused } from './hunk.ts'
import { type Lines, linesOf, textOf } from './lines.ts'
import { createLocator, type Locator } from './locate.ts'

/** What came of a patch: the new text, and where each hunk went. */
export interface Applied {
  readonly ok: true
  readonly text: string
  readonly before: Lines
  readonly after: Lines
  readonly placed: readonly Placed[]
  /** How many lines were compared to find the places. */
  readonly comparisons: number
}

export interface Placed {
  readonly hunk: Hunk
  /** Index of its first line in the old text. */
  readonly index: number
  /** It was not where its header said. */
  readonly moved: boolean
}

/** Nothing was changed. `diagnostic` says how far a hunk that stands nowhere would have matched. */
export type NotApplied = Refused & { readonly diagnostic?: MismatchDiagnostic }

/**
 * Applies all hunks or none. A hunk goes where its header says; if its old lines do not stand there, to the nearest place at or after
 * the end of the hunk before it where they do, to the letter. Where every line of the text ends in CRLF and no line of the patch does,
 * a patch that does not fit as it is written is read as if its lines ended so, too.
 */
export function applyPatch(hunks: readonly Hunk[], text: string): Applied | NotApplied {
  const asWritten = applyTo(linesOf(text, { uniform: false }), hunks)
  if (asWritten.ok || hunks.some(({ lines }) => lines.some((line) => line.text.endsWith('\r')))) return asWritten
  const carried = linesOf(text, { uniform: true })
  return carried.ending === '\r\n' ? applyTo(carried, hunks) : asWritten
}

function applyTo(before: Lines, hunks: readonly Hunk[]): Applied | NotApplied {
  const located = locateAll(hunks, before.lines)
  if (!located.ok) return located
  const after = changed(before, located.placed)
  return { ok: true, text: textOf(after), before, after, placed: located.placed, comparisons: located.comparisons }
}

type Located = { readonly ok: true } & Pick<Applied, 'placed' | 'comparisons'>

function locateAll(hunks: readonly Hunk[], lines: readonly string[]): Located | NotApplied {
  const locator = createLocator(lines)
  const placed: Placed[] = []
  let end = 0
  for (const [index, hunk] of hunks.entries()) {
    const found = locate(hunk, lines.length, end, locator)
    if (found === 'out of order') return outOfOrder(hunk, index, end)
    if (found === 'nowhere') return locator.exhausted ? tooCostly(hunk, index) : mismatch(hunk, index, lines, locator)
    placed.push(found)
    end = found.index + oldLines(hunk).length
  }
  return { ok: true, placed, comparisons: locator.comparisons }
}

/** `end`: where the hunk before it ends. */
function locate(hunk: Hunk, count: number, end: number, locator: Locator): Placed | 'out of order' | 'nowhere' {
  const old = oldLines(hunk)
  const wanted = wantedIndex(hunk, old.length)
  const run = locator.runOf(old.map((line) => line.text))
  const stands = old.length === 0 ? wanted <= count : locator.standsAt(run, wanted)
  if (stands) return wanted < end ? 'out of order' : { hunk, index: wanted, moved: false }
  if (old.length === 0) return 'nowhere' // nothing to look for
  const index = locator.nearest(run, wanted, end, count)
  if (index !== undefined) return { hunk, index, moved: true }
  return end > 0 && locator.nearest(run, wanted, 0, end) !== undefined ? 'out of order' : 'nowhere'
}

function wantedIndex({ start, insertsAfter }: Hunk, oldCount: number): number {
  return insertsAfter && oldCount === 0 ? start : Math.max(0, start - 1)
}

function changed(before: Lines, placed: readonly Placed[]): Lines {
  const lines: string[] = []
  let copied = 0
  for (const { hunk, index } of placed) {
    for (; copied < index; copied++) lines.push(before.lines[copied] as string) // index is inside
    for (const line of newLines(hunk)) lines.push(line.text)
    copied = index + oldLines(hunk).length
  }
  for (; copied < before.lines.length; copied++) lines.push(before.lines[copied] as string)
  return { lines, ending: before.ending, closed: isClosed(before, placed.at(-1)) }
}

/** Only the hunk that reaches the end of the text can say how it ends; one that says nothing leaves it as it was. */
function isClosed(before: Lines, last: Placed | undefined): boolean {
  if (!last) return before.closed
  const old = oldLines(last.hunk)
  if (last.index + old.length < before.lines.length) return before.closed
  if (newLines(last.hunk).at(-1)?.cut) return false
  return before.closed || old.at(-1)?.cut === true
}

const named = (hunk: Hunk, index: number) => `Hunk ${index + 1} (${hunk.header.slice(0, 80)})`

const outOfOrder = (hunk: Hunk, index: number, end: number) =>
  refused(
    'hunk_out_of_order',
    `${named(hunk, index)} stands before line ${end + 1}, where the hunk before it ends. Give hunks in the order of the file and without overlap. Nothing was changed.`,
  )

const tooCostly = (hunk: Hunk, index: number) =>
  refused(
    'patch_too_costly',
    `The lines of this file are too much alike to find ${named(hunk, index)} without a sound line number. Correct the line numbers, or replace the whole file. Nothing was changed.`,
  )

function mismatch(hunk: Hunk, index: number, lines: readonly string[], locator: Locator): NotApplied {
  const diagnostic = diagnose(hunk, index, lines, locator)
  const message = `${named(hunk, index)} does not match the file. ${differenceIn(diagnostic)} Nothing was changed.`
  return { ...refused('hunk_mismatch', message), diagnostic }
}

function differenceIn({ first_mismatch: first, requested_start_line: start, target_line_count: count }: MismatchDiagnostic): string {
  if (!first) return `It inserts at line ${start}; the file has ${count}.`
  const found = first.actual === null ? 'the file has already ended' : `there is ${JSON.stringify(first.actual)}`
  return `At line ${first.target_line} it expects ${JSON.stringify(first.expected)}; ${found}.`
}
