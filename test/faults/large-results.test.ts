import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createDatabaseFolder } from './children.ts'

it('results of 50 MB take a few hundred MB of memory at most', () => {
  const { folder, file, blobs } = createDatabaseFolder()
  const child = spawnSync(process.execPath, [join(import.meta.dirname, 'large-result-child.ts'), folder, file, blobs], { encoding: 'utf8' })
  expect(child.stderr).toBe('')
  const megabytes = Number(child.stdout)
  expect(megabytes).toBeGreaterThan(0)
  expect(megabytes).toBeLessThan(600) // usually less than 300; the collector frees memory at different times on different machines
  rmSync(folder, { recursive: true })
})
