import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadPortableFiles } from '../../../test/support/portable-files.ts'
import { describeFiles } from '../../testing/conformance/files.ts'
import { createDiskFiles } from './disk.ts'
import { createMemoryFiles } from './memory.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-files-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const freshFolder = () => mkdtempSync(join(root, 'f-'))

describeFiles({ describe, it, expect }, 'memory', async () => createMemoryFiles())
describeFiles({ describe, it, expect }, 'disk', async () => createDiskFiles({ folder: join(freshFolder(), 'made', 'when', 'needed') }))

const portable = await loadPortableFiles()
describeFiles({ describe, it, expect }, 'a disk without /proc', async () => portable.createDiskFiles({ folder: freshFolder() }))

it('runs the tests without /proc on a separate copy of the module', () => {
  expect(portable.createDiskFiles).not.toBe(createDiskFiles)
})
