/** The last of the lines, as many as fit into so many characters. */
export function lastLinesWithin(lines: readonly string[], maxChars: number): readonly string[] {
  let length = 0
  let first = lines.length
  while (first > 0 && length + (lines[first - 1] as string).length + 1 <= maxChars) {
    first--
    length += (lines[first] as string).length + 1
  }
  return lines.slice(first)
}
