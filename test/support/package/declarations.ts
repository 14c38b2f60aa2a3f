import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A declaration of a `.d.ts` file: a type, or a value with its signature. */
export interface Declaration {
  readonly file: string
  readonly name: string
  readonly isType: boolean
  /** The text of the declaration, without comments and string literals. */
  readonly text: string
}

interface DeclarationFile {
  readonly declarations: ReadonlyMap<string, Declaration>
  /** For each imported name, the file that it is imported from and its name in that file. */
  readonly imports: ReadonlyMap<string, { readonly file: string; readonly name: string }>
  readonly exports: ReadonlyMap<string, { readonly file: string; readonly name: string }>
  readonly exportAllFrom: readonly string[]
}

/** Reads the `.d.ts` files that `tsc` has written, one for each source file. Every declaration begins at the start of a line. */
export function createDeclarationReader(folder: string) {
  const files = new Map<string, DeclarationFile>()

  function read(file: string): DeclarationFile {
    const known = files.get(file)
    if (known) return known
    const parsed = parse(file, readFileSync(join(folder, file.replace(/\.ts$/, '.d.ts')), 'utf8'))
    files.set(file, parsed)
    return parsed
  }

  /** The declaration of a name in a file, found through imports and re-exports. Undefined for names of other packages. */
  function resolve(file: string, name: string): Declaration | undefined {
    const { declarations, imports, exports, exportAllFrom } = read(file)
    const own = declarations.get(name)
    if (own) return own
    const exported = exports.get(name)
    const elsewhere = exported?.file === file && exported.name === name ? imports.get(name) : (exported ?? imports.get(name))
    if (elsewhere) return resolve(elsewhere.file, elsewhere.name)
    for (const other of exportAllFrom) {
      const found = exportedNames(other).has(name) ? resolve(other, name) : undefined
      if (found) return found
    }
    return undefined
  }

  function exportedNames(file: string): ReadonlySet<string> {
    const { exports, exportAllFrom } = read(file)
    return new Set([...exports.keys(), ...exportAllFrom.flatMap((other) => [...exportedNames(other)])])
  }

  return {
    /** The declarations that an entry of the package exports. */
    exportsOf: (file: string): readonly Declaration[] => [...exportedNames(file)].flatMap((name) => resolve(file, name) ?? []),
    /** The types that a declaration mentions, except itself. */
    typesIn({ file, name, text }: Declaration): readonly Declaration[] {
      const names = new Set(text.match(/(?<![.\w$'"])[A-Za-z_$][\w$]*(?!\??:)\b/g))
      names.delete(name)
      return [...names].flatMap((used) => resolve(file, used) ?? []).filter(({ isType }) => isType)
    },
  }
}

const statement = /^(?:export |declare |import |interface |type |class |function |const |let |abstract )/

function parse(file: string, source: string): DeclarationFile {
  const imports = new Map<string, { file: string; name: string }>()
  const pathOf = (specifier: string) => join(file, '..', specifier)
  const text = source
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/\bimport\("(\.[^"]+)"\)\.([\w$]+)/g, (_, from: string, name: string) => {
      imports.set(name, { file: pathOf(from), name })
      return name
    })
  const statements: string[] = []
  for (const line of text.split('\n')) {
    if (statement.test(line)) statements.push(line)
    else if (statements.length > 0) statements.push(`${statements.pop()}\n${line}`)
  }
  const declarations = new Map<string, Declaration>()
  const exports = new Map<string, { file: string; name: string }>()
  const exportAllFrom: string[] = []
  for (const one of statements) {
    const all = /^export (?:type )?\* from '(\.[^']+)'/.exec(one)
    const list = /^(import|export) (?:type )?\{([\s\S]*?)\}(?: from '([^']+)')?/.exec(one)
    const declared = /^(export )?(?:declare )?(?:abstract )?(interface|type|class|function|const|let) ([\w$]+)/.exec(one)
    if (all) exportAllFrom.push(pathOf(all[1] as string))
    else if (list) {
      const [, kind, names = '', from] = list
      if (from !== undefined && !from.startsWith('.')) continue
      for (const item of names.split(',').filter((name) => name.trim() !== '')) {
        const [name = '', alias = name] = item
          .trim()
          .replace(/^type /, '')
          .split(' as ')
        const target = { file: from === undefined ? file : pathOf(from), name }
        if (kind === 'import') imports.set(alias, target)
        else exports.set(alias, target)
      }
    } else if (declared) {
      const [, exported, kind = '', name = ''] = declared
      const before = declarations.get(name)?.text ?? '' // empty, or earlier overloads of the same function
      const isType = kind === 'interface' || kind === 'type' || kind === 'class'
      declarations.set(name, { file, name, isType, text: `${before}\n${one.replace(/'[^'\n]*'/g, "''")}` })
      if (exported) exports.set(name, { file, name })
    }
  }
  return { declarations, imports, exports, exportAllFrom }
}
