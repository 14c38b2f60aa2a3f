/** The lines of a table. Columns of text are left-aligned, columns of numbers right-aligned. The first row is the heading. */
export function columns(rows: readonly (readonly (string | number)[])[]): readonly string[] {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? formatNumber(cell) : cell)))
  const widths = (texts[0] ?? []).map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)))
  const alignRight = widths.map((_, column) => rows.slice(1).every((row) => typeof row[column] !== 'string' || isNumeric(row[column])))
  return texts.map((row) =>
    row
      .map((cell, column) => (alignRight[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}

const isNumeric = (text: string | undefined) => text !== undefined && /^[≥$\d.,–%? ]*$/.test(text)

/** Rounds a number and adds separators, as in 1,234,567. */
export const formatNumber = (value: number): string =>
  Math.round(value)
    .toString()
    .replace(/\B(?=(?:\d{3})+$)/g, ',')

/** A share as a percentage: 0.5 becomes `50.0 %`. */
export const formatPercent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`

/** A number with its noun, such as `1 call` or `2 calls`. */
export const plural = (count: number, one: string, many = `${one}s`): string => `${formatNumber(count)} ${count === 1 ? one : many}`
