/**
 * The JavaScript that is published: every door of the package, and what they share in chunks, so that an import opens a few files and not
 * hundreds. zod goes in with what is used of it; everything else stays a dependency. Types are written by `tsc`.
 */
import { globSync, readFileSync } from 'node:fs'
import { rolldown } from 'rolldown'

const { exports, version } = JSON.parse(readFileSync('package.json', 'utf8'))

const doors = Object.values<{ 'daybook-source'?: string }>(exports)
  .flatMap((door) => door['daybook-source'] ?? [])
  .flatMap((path) => (path.includes('*') ? globSync(path.replace('*', '**/*')) : [path]))
  .concat('src/cli/main.ts')
  .map((path) => path.replace(/^\.\//, ''))
  .filter((path) => !path.endsWith('.test.ts'))

const named = (path: string) => path.replace(/^src\//, '').replace(/\.ts$/, '')
const isOurs = (id: string) => /^[./]/.test(id) || id === 'zod' || id.startsWith('zod/')

const bundle = await rolldown({
  input: Object.fromEntries(doors.map((path) => [named(path), path])),
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
})
console.log(`daybook ${version}: ${doors.length} doors, ${output.length} files`)
