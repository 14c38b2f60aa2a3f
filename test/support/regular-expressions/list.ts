import type { Shape } from './shapes.ts'

/** What the list says about one expression. */
export interface ListedExpression {
  readonly file: string
  readonly code: string
  /** For a call of `RegExp`: examples of expressions that the call makes. */
  readonly made: readonly RegExp[]
  /** The texts for which the expression is slowest. */
  readonly shapes: readonly Shape[]
  /** Why the expression never reads a long text that an attacker chose. If this is set, the expression is not timed. */
  readonly trusted: string | undefined
}

/**
 * Reads the list. A line without indentation is the path of a file. A line with two spaces is an expression. The lines with four spaces
 * below it are its shapes (three JSON strings), expressions that a call makes (`= /…/`), or the reason why it is not timed (`trusted: …`).
 */
export function readList(text: string): readonly ListedExpression[] {
  const listed: ListedExpression[] = []
  let file = ''
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const last = listed.at(-1)
    if (!line.startsWith(' ')) file = line
    else if (!line.startsWith('    ')) listed.push({ file, code: line.slice(2), made: [], shapes: [], trusted: undefined })
    else if (last) listed[listed.length - 1] = { ...last, ...factOf(line.trim(), last, index + 1) }
  }
  return listed
}

function factOf(fact: string, { made, shapes }: ListedExpression, lineNumber: number): Partial<ListedExpression> {
  if (fact.startsWith('trusted: ')) return { trusted: fact.slice('trusted: '.length) }
  const [, source, flags] = /^= \/(.*)\/([a-z]*)$/.exec(fact) ?? []
  if (source !== undefined) return { made: [...made, new RegExp(source, flags)] }
  const parts: unknown = JSON.parse(`[${fact}]`)
  if (!Array.isArray(parts) || parts.length !== 3) throw new Error(`line ${lineNumber} of the list has not three texts: ${fact}`)
  const [prefix, pump, suffix] = parts as readonly string[]
  return { shapes: [...shapes, { prefix: prefix ?? '', pump: pump ?? '', suffix: suffix ?? '' }] }
}

export const showShape = ({ prefix, pump, suffix }: Shape) => [prefix, pump, suffix].map((text) => JSON.stringify(text)).join(', ')
