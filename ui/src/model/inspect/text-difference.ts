/** A line of the comparison. Both texts have it, or only one of them. */
export interface DifferenceLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/**
 * The parts of the two texts that differ are compared line by line only if the number of old lines times the number of new lines is at most
 * this. Otherwise all old lines are shown as removed, and all new lines as added.
 */
const mostCells = 1_000_000

/** The lines of two texts side by side: what was removed, what was added, and what stayed. */
export function textDifference(before: string, now: string): readonly DifferenceLine[] {
  const [old, fresh] = [before.split('\n'), now.split('\n')]
  let start = 0
  while (start < Math.min(old.length, fresh.length) && old[start] === fresh[start]) start++
  let end = 0
  while (end < Math.min(old.length, fresh.length) - start && old.at(-1 - end) === fresh.at(-1 - end)) end++
  const as = (kind: DifferenceLine['kind']) => (text: string) => ({ kind, text })
  return [
    ...old.slice(0, start).map(as('same')),
    ...aligned(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)),
    ...old.slice(old.length - end).map(as('same')),
  ]
}

function aligned(old: readonly string[], fresh: readonly string[]): readonly DifferenceLine[] {
  const [rows, columns] = [old.length, fresh.length]
  if (rows * columns > mostCells)
    return [...old.map((text) => ({ kind: 'removed' as const, text })), ...fresh.map((text) => ({ kind: 'added' as const, text }))]
  // common[i][j]: how many lines old[i…] and fresh[j…] have in common, in the same order
  const common = Array.from({ length: rows + 1 }, () => new Uint32Array(columns + 1))
  const at = (row: number, column: number) => common[row]?.[column] ?? 0
  for (let row = rows - 1; row >= 0; row--)
    for (let column = columns - 1; column >= 0; column--)
      (common[row] as Uint32Array)[column] =
        old[row] === fresh[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
  const lines: DifferenceLine[] = []
  let [row, column] = [0, 0]
  while (row < rows || column < columns) {
    const [was, is] = [old[row], fresh[column]]
    if (was !== undefined && was === is) {
      lines.push({ kind: 'same', text: was })
      row++
      column++
    } else if (was !== undefined && (is === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ kind: 'removed', text: was })
      row++
    } else {
      lines.push({ kind: 'added', text: is ?? '' })
      column++
    }
  }
  return lines
}

/** The lines that differ, with a few equal ones around them. A number in the list says how many equal lines are left out at this place. */
export function foldedDifference(lines: readonly DifferenceLine[], around = 2): readonly (DifferenceLine | number)[] {
  const near = lines.map((_, index) => lines.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind !== 'same'))
  const folded: (DifferenceLine | number)[] = []
  for (const [index, line] of lines.entries()) {
    if (near[index]) folded.push(line)
    else if (typeof folded.at(-1) === 'number') folded[folded.length - 1] = (folded.at(-1) as number) + 1
    else folded.push(1)
  }
  return folded
}
