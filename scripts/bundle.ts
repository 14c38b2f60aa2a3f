// Writes the JavaScript of the published package. Each entry of the package becomes one file. Code that several entries use becomes further
// files. So an import opens a few files and not hundreds. The code of zod that Daybook uses is included. Other packages stay dependencies.
// `tsc` writes the types.

import { readFileSync } from 'node:fs'
import { type OutputAsset, type OutputChunk, type OutputOptions, rolldown } from 'rolldown'

const { exports, version } = JSON.parse(readFileSync('package.json', 'utf8'))

/** Files that are started or loaded by their path. Each of them also becomes a file of its own. */
const startedByPath = [
  'src/cli/main.ts',
  'src/adapters/documents/pdf.ts',
  'src/adapters/documents/pdf-thread.ts',
  'src/adapters/documents/page/reader.ts',
  'src/adapters/documents/page/page-thread.ts',
  'src/adapters/documents/content/content-threads.ts',
  'src/adapters/documents/content/content-thread.ts',
  'src/adapters/documents/typst/typst-renderer.ts',
  'src/adapters/documents/typst/typst-thread.ts',
  'src/testing/torture/child.ts',
]

const entries = Object.values<{ 'daybook-source'?: string }>(exports)
  .flatMap((entry) => entry['daybook-source'] ?? [])
  .map((path) => path.replace(/^\.\//, ''))
  .concat(startedByPath)

const nameOf = (path: string) => path.replace(/^src\//, '').replace(/\.ts$/, '')
const isOurs = (id: string) => /^[./]/.test(id) || id === 'zod' || id.startsWith('zod/')

const bundle = await rolldown({
  input: Object.fromEntries(entries.map((path) => [nameOf(path), path])),
  platform: 'node',
  // `codeSplitting` below needs this option. Its group contains no entry, so no entry gets additional exports
  preserveEntrySignatures: 'allow-extension',
  external: (id) => !isOurs(id),
  logLevel: 'warn',
})
const files: OutputOptions = {
  dir: 'dist',
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name]-[hash].js',
  sourcemap: true,
  // A shorter file is imported faster, so comments are removed and names are shortened. The declaration files still have the comments, and
  // the source maps have the original names. Line breaks stay, because Node prints the line in which an uncaught error was thrown. If all
  // code of a file were one line, this line would hide the message.
  comments: false,
  minify: { compress: true, mangle: true, codegen: { removeWhitespace: false } },
}
// Every file that an import opens takes about 0.3 ms. So the modules that the main entry loads become a few files: one for each of the
// groups below. A module is in the first group with an entry that loads it, so an entry loads its own group and those before it.
const modulesOf = groupsOfMainEntry((await bundle.generate(files)).output)
const codeSplitting = {
  groups: [...modulesOf].map(([name, modules]) => ({ name, test: (id: string) => modules.has(id), includeDependenciesRecursively: false })),
}
const { output } = await bundle.write({ ...files, codeSplitting })
console.log(`daybook ${version}: ${entries.length} entries, ${output.length} files`)

/**
 * The modules that the main entry loads, by group. The first groups are for the entries that programs use without the main entry: threads,
 * the client in a browser, the models, and the core. The other small entries share a group. An entry is small if it has less than half as
 * many modules as the main entry. The last group has the modules that no small entry loads.
 */
function groupsOfMainEntry(output: readonly (OutputChunk | OutputAsset)[]): ReadonlyMap<string, ReadonlySet<string>> {
  const chunks = new Map(output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file]] : [])))
  const main = loadedModules('index.js', chunks)
  const small = [...chunks.values()]
    .filter(({ isEntry }) => isEntry)
    .map(({ name, fileName }) => ({ name, modules: loadedModules(fileName, chunks) }))
    .filter(({ modules }) => modules.size < main.size / 2)
  const groups: readonly (readonly [string, ReadonlySet<string>])[] = [
    ['threads', modulesOfEntries((name) => name.endsWith('-thread'))],
    ['client', modulesOfEntries((name) => name === 'client/index')],
    ['models', modulesOfEntries((name) => name === 'adapters/model/index')],
    ['core', modulesOfEntries((name) => name === 'core/index')],
    ['adapters', modulesOfEntries(() => true)],
    ['main', main],
  ]
  // The module of an entry stays in the file of this entry. A module that is also imported on demand stays in its group: if it had a file of
  // its own, the two files would import each other.
  const placed = new Set([...chunks.values()].flatMap(({ isEntry, facadeModuleId }) => (isEntry && facadeModuleId ? [facadeModuleId] : [])))
  return new Map(
    groups.map(([name, modules]) => {
      const group = [...modules].filter((id) => main.has(id) && !placed.has(id))
      for (const id of group) placed.add(id)
      return [name, new Set(group)]
    }),
  )

  function modulesOfEntries(test: (name: string) => boolean): ReadonlySet<string> {
    return new Set(small.flatMap(({ name, modules }) => (test(name) ? [...modules] : [])))
  }
}

function loadedModules(fileName: string, chunks: ReadonlyMap<string, OutputChunk>, seen = new Set<string>()): Set<string> {
  const chunk = chunks.get(fileName)
  if (!chunk || seen.has(fileName)) return new Set()
  seen.add(fileName)
  return new Set([...chunk.moduleIds, ...chunk.imports.flatMap((imported) => [...loadedModules(imported, chunks, seen)])])
}
