import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

interface Packed {
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

// without the build: dist is checked by test/e2e/package.test.ts, which installs the tarball
const [packed] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' })) as [Packed]
const paths = packed.files.map(({ path }) => path)

const { files, exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly files: readonly string[]
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly 'daybook-source': string }>>
}

it('the package contains no tests, except those that are examples, and nothing of the site', () => {
  expect(paths.filter((path) => /\.test\.[cm]?[jt]sx?$/.test(path) && !path.startsWith('examples/'))).toEqual([])
  expect(paths.filter((path) => /^(?:test|bench|site|scripts)\/|node_modules|\.tgz$|\.env/.test(path))).toEqual([])
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
  expect(files.filter((path) => !existsSync(path) && path !== 'dist' && path !== 'ui/dist')).toEqual([])
})

it('every entry has types, and a source that exists', () => {
  for (const [entry, target] of Object.entries(exports)) {
    if (typeof target === 'string') continue
    expect(target.types, entry).toMatch(/^\.\/dist\/.*\.d\.ts$/)
    expect(existsSync(target['daybook-source']), entry).toBe(true)
    expect(target.types).toBe(target['daybook-source'].replace('./src/', './dist/').replace(/\.ts$/, '.d.ts'))
  }
})

it('no single file is larger than a megabyte, so that a forgotten file is noticed', () => {
  console.log(
    `package without its build: ${Math.round(packed.size / 1024)} KB packed, ${Math.round(packed.unpackedSize / 1024)} KB unpacked`,
  )
  expect(packed.files.filter(({ size, path }) => size > 1024 * 1024 && !path.startsWith('dist/') && !path.startsWith('ui/dist/'))).toEqual(
    [],
  )
})
