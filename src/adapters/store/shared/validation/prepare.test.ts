import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../../test/support/postgres.ts'
import type { BlobRef } from '../../../../core/block/index.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import type { BlobStore } from '../../../../ports/blobs.ts'
import type { ConversationStore } from '../../../../ports/store.ts'
import { prompt } from '../../../../testing/blocks.ts'
import { owner } from '../../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../../testing/fixed-clock.ts'
import { createFileBlobs } from '../../../blobs/file.ts'
import { createObjectBlobs } from '../../../hosting/blobs-in-objects.ts'
import { createMemoryObjects } from '../../../hosting/memory-objects.ts'
import { createPostgresStore } from '../../postgres/store.ts'
import { createSqliteStore } from '../../sqlite/store.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-prepare-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const referringTo = (blob: BlobRef): Change => ({ type: 'blocks.appended', blocks: [{ ...prompt('see'), id: 'b_1', blob }] as never })
const offerOf = (blob: BlobRef, now: string) => ({ event_id: 'e1', kind: 'followup', ts: now, text: 'see', keeps: [blob] }) as const

/** The deletion of one conversation removes a blob after another sender has put it, and before this sender refers to it. */
function describeRemovalAfterPut(name: string, open: () => Promise<{ store: ConversationStore; other: ConversationStore }>) {
  describe(name, () => {
    async function putAndRemoved(bytes: Uint8Array) {
      const { store, other } = await open()
      const deleted = await other.claim('deleted', owner('a'))
      await other.append(deleted, [referringTo(await other.blobs.put(bytes))])
      await other.release(deleted)
      const blob = await store.blobs.put(bytes)
      await other.delete('deleted')
      expect(await store.blobs.has(blob.sha256)).toBe(false)
      return { store, blob, close: () => Promise.all([store.close(), other.close()]) }
    }

    it('an append stores a blob again that a deletion has removed since it was put', async () => {
      const { store, blob, close } = await putAndRemoved(Buffer.from('the same file'))
      await store.append(await store.claim('kept', owner('b')), [referringTo(blob)])
      expect(Buffer.from(await store.blobs.get(blob.sha256)).toString()).toBe('the same file')
      await close()
    })

    it('an offer stores a blob again that a deletion has removed since it was put', async () => {
      const { store, blob, close } = await putAndRemoved(Buffer.from('the same file'))
      expect(await store.offer('kept', offerOf(blob, createFixedClock().now()), { create: true })).toBe('offered')
      expect(Buffer.from(await store.blobs.get(blob.sha256)).toString()).toBe('the same file')
      await close()
    })

    it('an append does not store other bytes if the caller has modified them since it has put them', async () => {
      const bytes = Buffer.from('the same file')
      const { store, blob, close } = await putAndRemoved(bytes)
      bytes.fill(0)
      const claim = await store.claim('kept', owner('b'))
      await expect(store.append(claim, [referringTo(blob)])).rejects.toMatchObject({ code: 'blob.missing' })
      await close()
    })

    it('an append that refers to a blob which this process has not put is refused', async () => {
      const { store, close } = await putAndRemoved(Buffer.from('the same file'))
      const unknown = { sha256: 'a'.repeat(64), size: 1 }
      const claim = await store.claim('kept', owner('b'))
      await expect(store.append(claim, [referringTo(unknown)])).rejects.toMatchObject({ code: 'blob.missing' })
      await close()
    })
  })
}

let folders = 0
describeRemovalAfterPut('the SQLite store with blobs in files', async () => {
  const folder = join(root, `${++folders}`)
  const open = () =>
    createSqliteStore({
      file: join(folder, 'daybook.db'),
      blobs: createFileBlobs({ folder: join(folder, 'blobs') }),
      clock: createFixedClock(),
    })
  return { store: await open(), other: await open() }
})

describe.skipIf(!hasPostgres)('with a real server', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  afterAll(() => server?.stop())
  let schemas = 0
  const openTwo = async (blobs: () => { readonly blobs?: BlobStore }) => {
    const schema = `test_${++schemas}`
    const open = () => createPostgresStore({ url: server?.url ?? '', schema, clock: createFixedClock(), maxConnections: 2, ...blobs() })
    return { store: await open(), other: await open() }
  }
  describeRemovalAfterPut('the PostgreSQL store', () => openTwo(() => ({})))
  describeRemovalAfterPut('the PostgreSQL store with blobs in a bucket', () => {
    const objects = createMemoryObjects()
    return openTwo(() => ({ blobs: createObjectBlobs({ objects }) }))
  })
})
