import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { describeStore } from '../../testing/conformance/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createSqliteStore } from './sqlite.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-sqlite-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

describeStore({ describe, it, expect }, 'the SQLite store', async () => {
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  const store = await createSqliteStore({ file: join(mkdtempSync(join(root, 's-')), 'daybook.db'), blobs, clock })
  return { store, clock, blobs }
})
