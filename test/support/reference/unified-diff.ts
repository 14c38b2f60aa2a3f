/**
 * Makes a unified diff, to test patches. It has no code in common with the patch module. It computes a longest common subsequence and then
 * hunks. Lines end after `\n`, so a carriage return and a missing last line end count as differences.
 */
export function unifiedDiff(before: string, after: string, context: number): string {
  const script = editScript(cut(before), cut(after))
  return groups(script, context)
    .map(([from, to]) => hunkText(script, from, to))
    .join('')
}

interface Edit {
  readonly sign: ' ' | '-' | '+'
  readonly line: string
}

const cut = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

function editScript(a: readonly string[], b: readonly string[]): readonly Edit[] {
  const common = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0))
  const at = (i: number, j: number) => common[i]?.[j] ?? 0
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      (common[i] as number[])[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const edits: Edit[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [left, right] = [a[i], b[j]]
    if (left !== undefined && left === right) {
      edits.push({ sign: ' ', line: left })
      i++
      j++
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      edits.push({ sign: '-', line: left })
      i++
    } else {
      edits.push({ sign: '+', line: right as string })
      j++
    }
  }
  return edits
}

/** Ranges of the edit script with changes and the lines around them. Ranges that touch are joined. */
function groups(script: readonly Edit[], context: number): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = []
  for (const [index, { sign }] of script.entries()) {
    if (sign === ' ') continue
    const [from, to] = [Math.max(0, index - context), Math.min(script.length, index + context + 1)]
    const last = ranges.at(-1)
    if (last && from <= last[1]) last[1] = to
    else ranges.push([from, to])
  }
  return ranges
}

function hunkText(script: readonly Edit[], from: number, to: number): string {
  const count = (edits: readonly Edit[], other: string) => edits.filter(({ sign }) => sign !== other).length
  const [head, body] = [script.slice(0, from), script.slice(from, to)]
  const range = (other: string) => {
    const length = count(body, other)
    return `${count(head, other) + (length === 0 ? 0 : 1)},${length}`
  }
  const lines = body.map(({ sign, line }) => (line.endsWith('\n') ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`))
  return `@@ -${range('+')} +${range('-')} @@\n${lines.join('')}`
}
