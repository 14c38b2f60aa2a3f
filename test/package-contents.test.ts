import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { developmentFilesAmong, listPacked, testsAmong } from './support/package/packed.ts'

// Without what the build makes. test/e2e/package.test.ts checks the tarball with its build.
const unbuilt = listPacked().files.filter(({ path }) => !path.startsWith('dist/') && !path.startsWith('ui/dist/'))
const paths = unbuilt.map(({ path }) => path)

const { files, exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly files: readonly string[]
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly 'daybook-source': string }>>
}

it('the package contains no tests, except those that are examples, and no files that are only needed to develop Daybook', () => {
  expect(testsAmong(paths)).toEqual([])
  expect(developmentFilesAmong(paths)).toEqual([])
})

it('a test or a file for development is found wherever it is', () => {
  const tests = ['dist/agent/agent.test.d.ts', 'src/server/viewer/viewer.test.ts', 'docs/fixtures/a.md', 'test/release.test.ts']
  const others = [
    'scripts/clean.ts',
    'ui/src/main.tsx',
    'ui/dist/built-from.json',
    'tsconfig.json',
    '.github/workflows/test.yml',
    'docs/.env',
  ]
  const needed = ['dist/testing/index.js', 'examples/shop.test.ts', 'examples/starter/tsconfig.json', 'ui/dist/index.html']
  expect(testsAmong([...needed, ...tests])).toEqual(tests)
  expect(developmentFilesAmong([...needed, ...others])).toEqual(others)
})

it('the package contains the documents that people look for', () => {
  const documents = [
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'SECURITY.md',
    'docs/README.md',
    'docs/getting-started.md',
    'docs/reference/sdk.md',
  ]
  expect(documents.filter((path) => !paths.includes(path))).toEqual([])
})

it('every file and folder that package.json lists exists, unless the build makes it', () => {
  expect(files.filter((path) => !path.startsWith('!') && !existsSync(path) && path !== 'dist' && path !== 'ui/dist')).toEqual([])
})

it('every entry has types, and a source that exists', () => {
  for (const [entry, target] of Object.entries(exports)) {
    if (typeof target === 'string') continue
    expect(target.types, entry).toMatch(/^\.\/dist\/.*\.d\.ts$/)
    expect(existsSync(target['daybook-source']), entry).toBe(true)
    expect(target.types).toBe(target['daybook-source'].replace('./src/', './dist/').replace(/\.ts$/, '.d.ts'))
  }
})

it('no file that is not built is larger than a megabyte, so that a forgotten file is noticed', () => {
  const size = unbuilt.reduce((sum, file) => sum + file.size, 0)
  console.log(`files of the package that are not built: ${Math.round(size / 1024)} KB unpacked`)
  expect(unbuilt.filter((file) => file.size > 1024 * 1024)).toEqual([])
})
