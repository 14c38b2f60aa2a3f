// Writes the pages in docs/reference, and the examples in other pages with what they print. test/reference.test.ts checks both.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { referencePages } from './reference/pages.ts'
import { sdkPages } from './reference/sdk.ts'
import { pagesWithExamples, withExamples } from './reference/shown-examples.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-reference-'))
try {
  execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', folder], { stdio: 'inherit' })
  const pages = { ...(await referencePages()), ...sdkPages(folder) }
  rmSync('docs/reference', { recursive: true, force: true })
  for (const [name, text] of Object.entries(pages)) {
    const path = join('docs/reference', name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  for (const page of pagesWithExamples()) writeFileSync(page, await withExamples(readFileSync(page, 'utf8')))
  console.log(`docs/reference has ${Object.keys(pages).length} pages`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
