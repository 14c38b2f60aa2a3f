import { readdirSync, readFileSync } from 'node:fs'
import { parseSync, Visitor } from 'rolldown/utils'

/** A regular expression in the sources: a literal, or a call of `RegExp`. */
export interface FoundExpression {
  readonly file: string
  /** The literal or the call as it is written, with every run of white space as one space. */
  readonly code: string
  /** The expression of a literal. Undefined for a call of `RegExp`, because its expression is known only at run time. */
  readonly expression: RegExp | undefined
}

/** Every regular expression in the files below `root`, except in tests. */
export function findExpressions(root: string): readonly FoundExpression[] {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => /\.[cm]?[jt]s$/.test(path))
  return files
    .filter((path) => !path.endsWith('.test.ts') && !path.endsWith('.d.ts'))
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .flatMap((path) => expressionsIn(path, readFileSync(`${root}/${path}`, 'utf8')))
}

/** The expressions of one file. A parser finds them, because only a parser can tell an expression from a division. */
export function expressionsIn(file: string, text: string): readonly FoundExpression[] {
  const { program, errors } = parseSync(file, text, {})
  if (errors.length > 0) throw new Error(`${file} can not be parsed: ${errors[0]?.message}`)
  const found: FoundExpression[] = []
  const ofCall = (node: { readonly callee: { readonly type: string }; readonly start: number; readonly end: number }) => {
    if (!('name' in node.callee) || node.callee.name !== 'RegExp') return
    found.push({ file, code: text.slice(node.start, node.end).replace(/\s+/g, ' '), expression: undefined })
  }
  new Visitor({
    Literal(node) {
      if (!('regex' in node)) return
      const { pattern, flags } = node.regex
      found.push({ file, code: `/${pattern}/${flags}`, expression: new RegExp(pattern, flags) })
    },
    NewExpression: ofCall,
    CallExpression: ofCall,
  }).visit(program)
  return found
}
