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
const mainOnly = modulesOfMainEntry((await bundle.generate(files)).output)
// Every file that an import opens takes time. So the modules of the main entry that no small entry needs become one file.
const codeSplitting = { groups: [{ name: 'main', test: (id: string) => mainOnly.has(id), includeDependenciesRecursively: false }] }
const { output } = await bundle.write({ ...files, codeSplitting })
console.log(`daybook ${version}: ${entries.length} entries, ${output.length} files`)

/**
 * The modules that the main entry loads, without the modules that a small entry also loads. An entry is small if it has less than half as
 * many modules.
 */
function modulesOfMainEntry(output: readonly (OutputChunk | OutputAsset)[]): ReadonlySet<string> {
  const chunks = new Map(output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file]] : [])))
  const main = loadedModules('index.js', chunks)
  const small = [...chunks.values()]
    .filter(({ isEntry }) => isEntry)
    .map(({ fileName }) => loadedModules(fileName, chunks))
    .filter(({ size }) => size < main.size / 2)
  const alsoInSmall = new Set(small.flatMap((modules) => [...modules]))
  // A module that is also imported on demand stays in the file of the main entry. If it had a file of its own, the two files would import
  // each other.
  const entryModules = new Set([...chunks.values()].flatMap(({ isEntry, facadeModuleId }) => (isEntry ? [facadeModuleId] : [])))
  return new Set([...main].filter((id) => !alsoInSmall.has(id) && !entryModules.has(id)))
}

function loadedModules(fileName: string, chunks: ReadonlyMap<string, OutputChunk>, seen = new Set<string>()): Set<string> {
  const chunk = chunks.get(fileName)
  if (!chunk || seen.has(fileName)) return new Set()
  seen.add(fileName)
  return new Set([...chunk.moduleIds, ...chunk.imports.flatMap((imported) => [...loadedModules(imported, chunks, seen)])])
}
