import { cutAt } from '../cut.ts'
import { type Hunk, oldLines } from './hunk.ts'
import type { Locator } from './locate.ts'

/** Tells the model how many lines of a hunk matched at the line number in its header. All line numbers, and `hunk_index`, start at 1. */
export interface MismatchDiagnostic {
  readonly hunk_index: number
  readonly hunk_header: string
  readonly requested_start_line: number
  readonly target_line_count: number
  readonly old_context_lines: number
  readonly matched_old_context_lines: number
  readonly first_mismatch?: {
    readonly patch_line: number
    readonly target_line: number
    readonly expected: string
    /** The line in the file. Null when the file ends before this line. */
    readonly actual: string | null
  }
  /**
   * The numbers of the lines in the file that equal the first old line of the hunk. At most eight are listed, those nearest to the
   * requested line.
   */
  readonly first_old_context_line_matches: readonly number[]
}

/** Parameters for a `react.read` call, which are suggested to the model. */
export interface SuggestedRead {
  readonly path: string
  readonly line_start: number
  readonly line_count: number
  readonly line_numbers: 'disabled'
}

const maxLineLength = 240
const maxMatches = 8

/** Compares a hunk that matches nowhere in the file with the lines at the line number in its header. */
export function diagnoseMismatch(hunk: Hunk, index: number, lines: readonly string[], locator: Locator): MismatchDiagnostic {
  const old = oldLines(hunk)
  const start = Math.max(0, hunk.start - 1)
  const differing = old.findIndex(({ text }, offset) => lines[start + offset] !== text)
  const line = old[differing]
  const actual = lines[start + differing]
  return {
    hunk_index: index + 1,
    hunk_header: cutAt(hunk.header, maxLineLength),
    requested_start_line: hunk.start,
    target_line_count: lines.length,
    old_context_lines: old.length,
    matched_old_context_lines: line ? differing : old.length,
    ...(line && {
      first_mismatch: {
        patch_line: line.number,
        target_line: start + differing + 1,
        expected: cutAt(line.text, maxLineLength),
        actual: actual === undefined ? null : cutAt(actual, maxLineLength),
      },
    }),
    first_old_context_line_matches: nearestTo(start, locator.indexesOf(old[0]?.text ?? '')).map((match) => match + 1),
  }
}

/** Suggests a `react.read` call that shows the lines around the requested line, so that the model can write a correct patch. */
export function suggestRead(
  path: string,
  { requested_start_line: start, old_context_lines: old }: Pick<MismatchDiagnostic, 'requested_start_line' | 'old_context_lines'>,
): SuggestedRead {
  return { path, line_start: Math.max(1, start - 4), line_count: Math.min(80, Math.max(12, old + 8)), line_numbers: 'disabled' }
}

function nearestTo(wanted: number, indexes: readonly number[]): readonly number[] {
  const after = indexes.findIndex((index) => index >= wanted)
  const middle = after === -1 ? indexes.length : after
  return indexes
    .slice(Math.max(0, middle - maxMatches), middle + maxMatches)
    .sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted))
    .slice(0, maxMatches)
    .sort((a, b) => a - b)
}
