import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDeclarationReader, type Declaration } from '../../test/support/package/declarations.ts'
import { commentText } from './comments.ts'
import { code, codeBlock, page, table } from './markdown.ts'

interface Entry {
  /** The name with which programs import the entry, such as `daybook/core`. */
  readonly name: string
  readonly declarations: readonly Declaration[]
}

/**
 * The pages about the entries of the package: a list of all names, and a page with the declarations of each entry. `folder` has the
 * declaration files of `src`. A declaration that several entries export is shown on the page of the first one.
 */
export function sdkPages(folder: string): Readonly<Record<string, string>> {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, { 'daybook-source'?: string }> }
  const { exportsOf } = createDeclarationReader(folder)
  const entries = Object.entries(exports).flatMap(([path, { 'daybook-source': source }]): readonly Entry[] =>
    source === undefined ? [] : [{ name: path.replace(/^\./, 'daybook'), declarations: sorted(exportsOf(source.replace('./src/', ''))) }],
  )
  const homes = new Map<string, string>()
  for (const { name, declarations } of entries)
    for (const declaration of declarations) if (!homes.has(keyOf(declaration))) homes.set(keyOf(declaration), name)
  const home = (declaration: Declaration) => homes.get(keyOf(declaration)) as string
  return {
    'sdk.md': indexPage(folder, entries, home),
    ...Object.fromEntries(entries.map((entry) => [`sdk/${fileOf(entry.name)}`, entryPage(folder, entry, home)])),
  }
}

const keyOf = ({ file, name }: Declaration): string => `${file}#${name}`
const fileOf = (entry: string): string => `${entry.replaceAll('/', '-')}.md`
const sorted = (declarations: readonly Declaration[]): readonly Declaration[] =>
  declarations.toSorted((a, b) => Number(a.isType) - Number(b.isType) || (a.name < b.name ? -1 : 1))

function indexPage(folder: string, entries: readonly Entry[], home: (declaration: Declaration) => string): string {
  const link = (declaration: Declaration) => `[${code(declaration.name)}](sdk/${fileOf(home(declaration))}#${anchor(declaration.name)})`
  return page(
    'SDK',
    'This page lists every name that the package exports, by entry. Each name leads to its declaration and its comment. [The SDK](../sdk.md) explains how they are used.',
    ...entries.map(({ name, declarations }) => {
      const values = declarations.filter(({ isType }) => !isType)
      const types = declarations.filter(({ isType }) => isType)
      return [
        `## ${name}`,
        ...(values.length > 0
          ? [
              table(
                ['value', 'what it is for'],
                values.map((value) => [link(value), firstSentence(folder, value)]),
              ),
            ]
          : []),
        ...(types.length > 0 ? [`Types: ${types.map(link).join(', ')}.`] : []),
      ].join('\n\n')
    }),
  )
}

function entryPage(folder: string, { name, declarations }: Entry, home: (declaration: Declaration) => string): string {
  const own = declarations.filter((declaration) => home(declaration) === name)
  const others = Map.groupBy(
    declarations.filter((declaration) => home(declaration) !== name),
    home,
  )
  return page(
    name,
    `\`import { … } from '${name}'\`. [All entries](../sdk.md).`,
    ...own.map((declaration) => declarationSection(folder, declaration)),
    ...[...others].map(([entry, shared]) => {
      const links = shared.map(({ name: shown }) => `[${code(shown)}](${fileOf(entry)}#${anchor(shown)})`)
      return `## Also exported by ${entry}\n\n${links.join(', ')}.`
    }),
  )
}

function declarationSection(folder: string, declaration: Declaration): string {
  const { comment, text } = sourceOf(folder, declaration)
  return [`## ${declaration.name}`, ...(comment === '' ? [] : [comment]), codeBlock(text, 'ts')].join('\n\n')
}

const anchor = (name: string): string => name.toLowerCase()

const firstSentence = (folder: string, declaration: Declaration): string => {
  const { comment } = sourceOf(folder, declaration)
  return /^.*?[.:](?=\s|$)/s.exec(comment)?.[0].replace(/:$/, '.') ?? comment
}

/** The comment and the text of a declaration, as `tsc` wrote them. Overloads of a function are shown together. */
function sourceOf(folder: string, { file, name }: Declaration): { readonly comment: string; readonly text: string } {
  const source = readFileSync(join(folder, file.replace(/\.ts$/, '.d.ts')), 'utf8')
  const begin = new RegExp(
    `((?:^/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?)^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const|let) ${name.replaceAll('$', '\\$')}(?![\\w$])`,
    'gm',
  )
  let comment = ''
  const texts = [...source.matchAll(begin)].map((found) => {
    const [, before = ''] = found
    comment ||= commentText(before)
    const rest = source.slice(found.index + before.length)
    const end = rest.slice(1).search(/^(?:export |declare |import |interface |type |class |function |const |\/\*\*)/m)
    return end < 0 ? rest : rest.slice(0, end + 1)
  })
  const text = texts
    .join('')
    .replace(/^(?:export )?(?:declare )?/gm, '')
    .replace(/\bimport\("[^"]+"\)\.(?=[\w$])/g, '')
    .replace(/^\{\};$/gm, '')
    .replace(/^((?: {4})+)/gm, (indent) => ' '.repeat(indent.length / 2))
    .trim()
  return { comment, text }
}
