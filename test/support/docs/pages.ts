import { readdirSync, readFileSync } from 'node:fs'

/** The pages that are written by hand, and README.md. */
export const writtenPages: readonly string[] = [
  'README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md') && !name.startsWith('docs/reference/'))

export interface CodeBlock {
  /** The page and the line at which the block begins, such as `docs/sdk.md:17`. */
  readonly where: string
  readonly code: string
  /** Whether the block shows a file of `examples`. */
  readonly isExample: boolean
}

/** The TypeScript blocks of a page. Blocks that show code of other libraries are not included, because they have the language `js`. */
export function codeBlocks(page: string): readonly CodeBlock[] {
  const text = readFileSync(page, 'utf8')
  return [...text.matchAll(/^( *)```ts\n([\s\S]*?)^\1```$/gm)].map(({ index, 1: indent = '', 2: code = '' }) => ({
    where: `${page}:${text.slice(0, index).split('\n').length}`,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''), // a block in a list is indented
    isExample: /<!-- example: [\w.-]+ -->\n\n$/.test(text.slice(0, index)),
  }))
}
