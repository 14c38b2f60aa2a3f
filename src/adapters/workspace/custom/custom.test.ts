import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'
import { filePath } from '../../../core/path/build.ts'
import { localScope } from '../../../core/scope.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Files } from '../../../ports/files.ts'
import type { RecordedFiles } from '../../../ports/workspace.ts'
import {
  beginTurn,
  contentsBelow,
  createTestJournal,
  publishTime,
  publishTurn,
  relsOf,
} from '../../../testing/conformance/workspace/fixture.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { createMemoryFiles } from '../../files/memory.ts'
import { createCustomWorkspaces, createMemoryWorkspaces } from './custom.ts'

function createFixture() {
  const blobs = createMemoryBlobs()
  const puts: string[] = []
  const counting = {
    ...blobs,
    async put(content: Uint8Array) {
      const ref = await blobs.put(content)
      puts.push(ref.sha256)
      return ref
    },
    async putStream(pieces: AsyncIterable<Uint8Array>) {
      const ref = await blobs.putStream(pieces)
      puts.push(ref.sha256)
      return ref
    },
  }
  const machine = () => createMemoryWorkspaces({ blobs: counting, createFiles: createMemoryFiles }).open(localScope, 'c1')
  return { blobs, puts, machine, journal: createTestJournal() }
}

const filesIn = (manifest: unknown) => Object.keys(isObject(manifest) && isObject(manifest.files) ? manifest.files : {})

describe('custom workspaces', () => {
  it('tools 18.104: restore every file, internal ones included, on a machine that never saw the turn', async () => {
    const { machine, journal, puts } = createFixture()
    const turn = await beginTurn(await machine(), 'turn_1', journal)
    await turn.write('app/shown.md', 'shown')
    await turn.write('app/.cache/internal.bin', 'never \0 hosted')
    await turn.writeRecorded('app/recorded.md', 'in a block')
    const { keeps = [] } = await turn.publish()
    expect(keeps.map(({ sha256 }) => sha256)).toEqual(puts) // a file that a block already contains is not stored again
    expect(puts.length).toBe(2)
    const other = await machine()
    await other.startTurn('turn_2')
    await other.hydrate('turn_1', [{ area: 'files', rel: '' }], journal)
    expect(await contentsBelow(other, 'turn_1/files')).toEqual({
      'app/.cache/internal.bin': 'never \0 hosted',
      'app/recorded.md': 'in a block',
      'app/shown.md': 'shown',
    })
  })

  it('write a manifest that names only changed and deleted files', async () => {
    const { machine, journal, puts } = createFixture()
    const workspace = await machine()
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`app/${n}`, `content ${n}`]))
    await publishTurn(workspace, 'turn_1', journal, many)
    const turn = await beginTurn(workspace, 'turn_2', journal)
    await turn.checkout('replace', ['turn_1'])
    await turn.write('app/7', 'changed')
    await turn.remove('app/9')
    puts.length = 0
    const { record } = await turn.publish()
    expect(record.manifest).toMatchObject({
      parent: 'turn_1',
      files: { 'app/7': { sha256: puts[0], size: 7 }, 'app/9': { deleted: true } },
    })
    expect([filesIn(record.manifest).length, puts.length]).toEqual([2, 1])
  })

  it('name every file again before the chain of manifests becomes long', async () => {
    const { machine, journal } = createFixture()
    const workspace = await machine()
    const depths: unknown[] = []
    for (let n = 1; n <= 150; n++) {
      const { record } = await publishTurn(workspace, `turn_${n}`, journal, { [`scope${n % 90}/x`]: String(n) })
      // `depth` is missing if the manifest is in a blob. Such a manifest lists every file
      depths.push((isObject(record.manifest) && record.manifest.depth) || 0)
    }
    expect(depths.every((depth) => typeof depth === 'number' && depth <= 64)).toBe(true)
    expect((await relsOf(await machine(), 'turn_150', journal))?.length).toBe(90)
  })

  it('store a large manifest in a blob that the block keeps', async () => {
    const { machine, journal, blobs } = createFixture()
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`app/a-rather-long-name-${n}`, String(n)]))
    const { record, keeps = [] } = await publishTurn(await machine(), 'turn_1', journal, many)
    expect(JSON.stringify(record).length).toBeLessThan(1_000)
    expect(keeps).toContainEqual(record.manifest)
    for (const { sha256 } of keeps) expect(await blobs.has(sha256)).toBe(true)
    expect((await relsOf(await machine(), 'turn_1', journal))?.length).toBe(300)
  })

  it('store no file after publishing has failed', async () => {
    const [blobs, files] = [createMemoryBlobs(), createMemoryFiles()]
    let puts = 0
    const slow: BlobStore = {
      ...blobs,
      async put(content) {
        await sleep(2)
        puts++
        return blobs.put(content)
      },
    }
    const failing: Files = {
      ...files,
      async read(path, options) {
        if (path.endsWith('/file-0')) throw new Failure('file.unsafe', 'it is too large', { details: { reason: 'too_large' } })
        return files.read(path, options)
      },
    }
    const open = (folder: string) => (folder.endsWith('runtime') ? createMemoryFiles() : failing)
    const workspace = await createCustomWorkspaces({ openFiles: open, removeFiles: async () => {}, blobs: slow }).open(localScope, 'c1')
    const turn = await beginTurn(workspace, 'turn_1', createTestJournal())
    for (let n = 0; n < 40; n++) await turn.write(`app/file-${n}`, `content ${n}`)
    expect(await turn.publish()).toMatchObject({ status: 'failed', record: { message: 'it is too large' } })
    const stored = puts
    await sleep(50)
    expect(puts).toBe(stored)
  })

  it('stream large files, and store each only when it has changed and no block has its bytes', async () => {
    const blobs = createMemoryBlobs()
    const files = createMemoryFiles()
    const calls: string[] = []
    const streaming = {
      ...files,
      read: (path: string, options?: { readonly maxBytes?: number }) => {
        if (path.includes('large')) calls.push(`read ${path}`)
        return files.read(path, options)
      },
    }
    const counting: BlobStore = {
      ...blobs,
      async putStream(pieces) {
        const ref = await blobs.putStream(pieces)
        calls.push(`stored ${ref.size}`)
        return ref
      },
    }
    const open = (folder: string) => (folder.endsWith('runtime') ? createMemoryFiles() : streaming)
    const workspace = await createCustomWorkspaces({ openFiles: open, removeFiles: async () => {}, blobs: counting }).open(localScope, 'c1')
    const journal = createTestJournal()
    const large = (character: string, more = 0) => character.repeat(1024 * 1024 + 1 + more)
    const turn = await beginTurn(workspace, 'turn_1', journal)
    await turn.write('app/large', large('a'))
    await turn.write('app/large-2', large('b', 1))
    await turn.write('app/small', 'x')
    const { keeps = [] } = await turn.publish()
    expect(calls).toEqual(['stored 1048577', 'stored 1048578'])
    expect(keeps.map(({ size }) => size)).toEqual([1048577, 1048578, 1])
    const next = await beginTurn(workspace, 'turn_2', journal)
    await next.checkout('replace', ['turn_1'])
    await next.write('app/large-2', large('c', 2))
    const ofBlock = await blobs.put(Buffer.from(large('d', 3)))
    const recorded = filePath('turn_2', 'files', 'app/large-3')
    Object.assign(journal, { blob: async (path: string) => (path === recorded ? ofBlock : undefined) })
    await next.write('app/large-3', large('d', 3))
    calls.length = 0
    const { record } = await next.publish()
    expect(calls).toEqual(['stored 1048579'])
    expect(record.manifest).toMatchObject({
      files: { 'app/large-2': { size: 1048579 }, 'app/large-3': { size: 1048580, recorded: 'turn_2' } },
    })
    expect(filesIn(record.manifest)).toEqual(['app/large-2', 'app/large-3'])
  })

  it('ignore manifests that Daybook can not have written', async () => {
    const { machine } = createFixture()
    const workspace = await machine()
    const sha256 = 'a'.repeat(64)
    const files = [
      { '../x': { sha256, size: 1 } },
      { '/etc/x': { sha256, size: 1 } },
      { x: { sha256: '../../etc', size: 1 } },
      { x: 7 },
      [],
    ]
    const records = files.map((each) => ({ workspace_implementation: 'custom', manifest: { depth: 0, weight: 1, files: each } }))
    for (const record of [...records, null, 7, 'x', { manifest: {} }, { workspace_implementation: 'git', manifest: { depth: 0 } }]) {
      const history: RecordedFiles = {
        bytes: async () => undefined,
        paths: async () => [],
        made: async () => [],
        manifest: async () => record,
        keeps: async () => new Set<string>(),
        hasTurn: async () => true,
      }
      expect(await workspace.version('turn_1', history)).toBe(undefined)
    }
  })

  it('fail to publish, and lose nothing, when an earlier manifest is missing or the chain is a circle', async () => {
    const { machine, journal } = createFixture()
    const workspace = await machine()
    const turn = await beginTurn(workspace, 'turn_3', journal)
    await turn.write('app/a', '3')
    const circle = (parent: string) => ({ workspace_implementation: 'custom', manifest: { parent, depth: 1, weight: 1, files: {} } })
    for (const manifest of [async (id: string) => (id === 'turn_2' ? circle('turn_1') : null), async () => circle('turn_2')]) {
      const published = await workspace.publish('turn_3', { at: publishTime, previous: 'turn_2' }, { ...journal, manifest })
      expect(published.record).toMatchObject({ status: 'failed', error: { code: 'workspace_publish_failed' } })
      expect(await turn.files()).toEqual({ 'app/a': '3' })
    }
  })

  it('name the files whose bytes are missing', async () => {
    const { machine, journal, blobs, puts } = createFixture()
    await publishTurn(await machine(), 'turn_1', journal, { 'app/a': 'one', 'app/b': 'two' })
    await blobs.remove(puts[0] as string)
    const other = await machine()
    await other.startTurn('turn_2')
    const pulled = await other.hydrate('turn_1', [{ area: 'files', rel: 'app' }], journal)
    expect([pulled.present, await contentsBelow(other, 'turn_1')]).toEqual([[], {}])
    const message = 'the files of turn_1 can not be reached now: the bytes of one file are nowhere to be found: app/a'
    expect(pulled.errors).toEqual([{ ref: { area: 'files', rel: 'app' }, code: 'workspace_version_unavailable', message }])
    const outcome = await other.checkout('turn_2', { mode: 'replace', sources: [{ turnId: 'turn_1', rel: '' }] }, journal)
    expect(outcome).toEqual({ ok: false, code: 'unavailable', problems: [{ message }] })
  })

  it('create no folder before the first write', async () => {
    const opened: string[] = []
    const openFiles = (folder: string) => {
      opened.push(folder)
      return createMemoryFiles()
    }
    const options = { openFiles, removeFiles: async () => {}, blobs: createMemoryBlobs() }
    const workspace = await createCustomWorkspaces(options).open(localScope, 'c1')
    await workspace.startTurn('turn_1')
    await workspace.describe('turn_1')
    await workspace.files.read('turn_1/files/x')
    expect((await workspace.runtime.list('')).files).toEqual([])
    expect(opened).toEqual(['local/default/local/c1/out/workdir', 'local/default/local/c1/work', 'local/default/local/c1/out'])
  })
})
