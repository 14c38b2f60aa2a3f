/** Elements whose content is not markup: one that is not closed swallows the rest of the page. */
const rawTextElements = /<(!--|script|style|textarea|title)(?=[\s>/-])/gi

/** Browsers forgive everything else. */
export function htmlProblem(html: string): string | undefined {
  const opening = new RegExp(rawTextElements)
  for (let found = opening.exec(html); found; found = opening.exec(html)) {
    const name = (found[1] as string).toLowerCase() // the expression names one
    const end = name === '!--' ? endOfComment(html, found.index) : endOfElement(html, name, opening.lastIndex)
    if (end === undefined) return `line ${lineNumberAt(html, found.index)}: ${name === '!--' ? 'a comment' : `<${name}>`} is not closed`
    opening.lastIndex = end
  }
  return undefined
}

function endOfComment(html: string, from: number): number | undefined {
  const end = html.indexOf('-->', from + 2)
  return end === -1 ? undefined : end + 3
}

function endOfElement(html: string, name: string, from: number): number | undefined {
  const closing = new RegExp(`</${name}[\\s>/]`, 'gi')
  closing.lastIndex = from
  return closing.exec(html) ? closing.lastIndex : undefined
}

const lineNumberAt = (text: string, index: number) => text.slice(0, index).split('\n').length
