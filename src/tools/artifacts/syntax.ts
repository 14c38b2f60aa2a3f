import { compileProblem } from '../syntax/compile.ts'
import { htmlProblem } from '../syntax/html.ts'
import { pythonProblem } from '../syntax/python.ts'

/** More is not checked: a check is a courtesy, not a gate. */
const maxCheckedLength = 1_000_000

type SyntaxCheck = (text: string) => string | undefined | Promise<string | undefined>

/** JSX has no check: nothing on board reads it, and a wrong alarm is worse than none. */
const checksByExtension: ReadonlyMap<string, SyntaxCheck> = new Map<string, SyntaxCheck>([
  ['json', jsonProblem],
  ...['js', 'mjs', 'cjs'].map((extension): [string, SyntaxCheck] => [extension, (text) => compileProblem(text, 'javascript')]),
  ...['ts', 'mts', 'cts'].map((extension): [string, SyntaxCheck] => [extension, (text) => compileProblem(text, 'typescript')]),
  ['html', htmlProblem],
  ['htm', htmlProblem],
  ['py', pythonProblem],
])

/** What keeps a text from being what its name says; undefined when nothing does, or when nobody here can tell. Nothing is ever run. */
export async function syntaxProblem(name: string, text: string): Promise<string | undefined> {
  if (text === '') return 'the file is empty now'
  if (text.length > maxCheckedLength) return undefined
  return checksByExtension.get(/\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? '')?.(text)
}

function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof SyntaxError ? error.message : undefined
  }
}
