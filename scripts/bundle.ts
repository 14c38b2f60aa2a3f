// Writes the JavaScript of the published package. Each entry of the package becomes one file. Code that several entries use becomes further
// files. So an import opens a few files and not hundreds. The code of zod that Daybook uses is included. Other packages stay dependencies.
// `tsc` writes the types.

import { readFileSync } from 'node:fs'
import { rolldown } from 'rolldown'

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
  external: (id) => !isOurs(id),
  logLevel: 'warn',
})
const { output } = await bundle.write({
  dir: 'dist',
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name]-[hash].js',
  sourcemap: true,
  comments: false, // a shorter file is imported faster. The types have the comments
})
console.log(`daybook ${version}: ${entries.length} entries, ${output.length} files`)
