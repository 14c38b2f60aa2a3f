const openingBrackets: ReadonlyMap<string, string> = new Map([
  [')', '('],
  [']', '['],
  ['}', '{'],
])

// A comment, a triple-quoted string, a string of one line, a bracket. An opening without its end matches as the opening alone.
const pythonTokens = /#[^\n]*|("""|''')(?:(?:\\[\s\S]|(?!\1)[^\\])*\1)?|(["'])(?:(?:\\[\s\S]|(?!\2)[^\\\n])*\2)?|[()[\]{}]/g

/** Brackets that pair and strings that end: what a patch breaks most often. Nothing else of Python is looked at. */
export function pythonProblem(source: string): string | undefined {
  const open: { readonly bracket: string; readonly index: number }[] = []
  for (const { 0: token, 1: triple, 2: quote, index } of source.matchAll(pythonTokens)) {
    if (token === triple) return `line ${lineAt(source, index)}: a string in triple quotes is not closed`
    if (token === quote) return `line ${lineAt(source, index)}: a string is not closed`
    if ('([{'.includes(token)) open.push({ bracket: token, index })
    const partner = openingBrackets.get(token)
    if (partner !== undefined && open.pop()?.bracket !== partner) return `line ${lineAt(source, index)}: "${token}" closes nothing`
  }
  const last = open.at(-1)
  return last && `line ${lineAt(source, last.index)}: "${last.bracket}" is not closed`
}

const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length
