// Where the runtime has cut, hidden or summarised a text, it adds a hint to read the whole text with `react.read`. An agent without this
// tool gets no such hints.

/** The hints. If a line begins with `line` and contains `hint`, everything from `hint` to the end of the line is replaced by `close`. */
const hints: readonly { readonly line: string; readonly hint: string; readonly close?: string }[] = [
  { line: '...[truncated, ', hint: '; the whole: react.read(["', close: ']' },
  { line: 'HIDDEN — ', hint: ' Retrieve with react.read(' },
  { line: 'reason: ', hint: '; react.read brings it in' },
  { line: 'reason: ', hint: '; hide what is no longer needed, then react.read it' },
  { line: '... ', hint: ': react.read(["' },
  { line: 'Context was shortened ', hint: ' Look at what is visible first; use react.read' },
  { line: '', hint: '... (the whole: react.read(["', close: '...' },
]

/** A rendered text without the hints of the runtime to use `react.read`. Other text is returned unchanged. */
export function withoutReadHints(text: string): string {
  if (!text.includes('react.read')) return text
  const lines = text.split('\n')
  return lines
    .filter((line, index) => !isRecoveryLine(line) && !(line === 'recovery:' && isRecoveryLine(lines[index + 1] ?? '')))
    .map(withoutHint)
    .join('\n')
}

const isRecoveryLine = (line: string): boolean =>
  line.startsWith('recovery: react.read') || (line.startsWith('- react.read(["') && line.endsWith('for the content, whole or by range'))

function withoutHint(line: string): string {
  const found = hints.find((each) => line.startsWith(each.line) && line.includes(each.hint))
  return found ? line.slice(0, line.lastIndexOf(found.hint)) + (found.close ?? '') : line
}
