import type { AppliedPatch, HunkPlacement } from './apply.ts'
import { type HunkLine, newLines, oldLines } from './hunk.ts'
import type { TextLines } from './lines.ts'

/** The patch as it was applied: right counts, right line numbers, and one file, `path`, in its header. */
export function formatPatch(path: string, applied: Pick<AppliedPatch, 'before' | 'after' | 'placed'>): string {
  const name = path.includes(' ') ? `${path}\t` : path // as diff and git write it: the name ends at the tab
  const parts = [`--- ${name}\n+++ ${name}\n`]
  let shift = 0
  for (const placed of applied.placed) {
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
