import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

/** A page shows an example in a code block after the line `<!-- example: name -->`. If the example prints something, a block with the output follows. */
const place = /(<!-- example: ([\w.-]+) -->\n)\n```ts\n[\s\S]*?(?<=\n)```\n(?:\n?```\n[\s\S]*?\n```\n)?/g

export const pagesWithExamples = (): readonly string[] =>
  ['README.md', ...readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)].filter(
    (path) => path.endsWith('.md') && existsSync(path) && readFileSync(path, 'utf8').includes('<!-- example: '),
  )

/** The names of the examples that a page shows. */
export const examplesIn = (text: string): readonly string[] => [...text.matchAll(place)].map(([, , name]) => name as string)

/** The text of a page with the current code of its examples, and with what they print now. */
export async function withExamples(text: string): Promise<string> {
  const shown = new Map<string, string>()
  for (const name of examplesIn(text)) shown.set(name, await blocksOf(name))
  return text.replace(place, (_, marker: string, name: string) => `${marker}\n${shown.get(name)}`)
}

async function blocksOf(name: string): Promise<string> {
  const file = `examples/${name}.ts`
  const code = `\`\`\`ts\n${readFileSync(file, 'utf8')}\`\`\`\n`
  if (name.endsWith('.test')) return code
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=daybook-source', file])
  return stdout === '' ? code : `${code}\n\`\`\`\n${stdout}\`\`\`\n`
}
