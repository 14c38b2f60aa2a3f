import { describe, expect, it } from 'vitest'
import { png } from '../../../test/support/sample-files/images.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createHosting } from '../../adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../../adapters/hosting/memory-objects.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { Failure } from '../../core/failure.ts'
import { conversationKey, localScope } from '../../core/scope.ts'
import type { Hosting } from '../../ports/hosting.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'

const replies = [
  reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content: 'first\n', kind: 'file' }),
  reply.call('react.write', { path: 'files/copy.png', channel: 'timeline_text', content: 'ref:attachments/photo.png', kind: 'file' }),
  reply.answer('Done.'),
  reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content: 'second\n', kind: 'file' }),
  reply.call('react.patch', { path: 'files/report.md', channel: 'canvas', patch: '@@ -1 +1 @@\n-second\n+third\n', kind: 'file' }),
  reply.answer('Done again.'),
]

/** A conversation of two turns with attachments and hosted files. */
async function hostedConversation() {
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  const objects = createMemoryObjects()
  const hosting = createHosting({ objects, blobs })
  const store = createMemoryStore({ blobs, clock })
  const harness = createHarness({ replies, clock, store, hosting })
  const attachments = [
    { name: 'photo.png', content: png() },
    { name: 'notes.txt', content: 'note' },
  ]
  await harness.agent.run('c1', 'Begin.', { attachments }).result
  await harness.say('Go on.')
  return { harness, archive: harness.agent.archive, hosting, objects, store, clock }
}

type Archive = Awaited<ReturnType<typeof hostedConversation>>['archive']

/**
 * Name, type and content of each hosted file, by the handles in the blocks of a conversation. The value is undefined when there is no file
 * for a handle.
 */
async function filesOf(archive: Archive, key: string, viewer = localScope) {
  const { timeline, turn_logs } = await archive.exportBundle(key)
  const blocks = [...turn_logs.flatMap((log) => log.blocks), ...timeline.blocks]
  const files: Record<string, string | undefined> = {}
  for (const { meta } of blocks) {
    for (const handle of [meta?.rn, meta?.key, meta?.hosted_uri]) {
      if (handle === undefined) continue
      const file = await archive.file(handle, viewer)
      const bytes = file && Buffer.from(await file.read())
      files[handle] = file && `${file.filename} ${file.mime} ${bytes?.equals(png()) ? 'image' : bytes}`
    }
  }
  return files
}

const contents = [
  'copy.png image/png image',
  'notes.txt text/plain note',
  'photo.png image/png image',
  'report.md text/markdown first\n',
  'report.md text/markdown third\n',
]

const contentsOf = async (...params: Parameters<typeof filesOf>) => [...new Set(Object.values(await filesOf(...params)))].sort()

describe('hosted files of a copied conversation', () => {
  it('of a fork have handles of their own, and stay when the original is deleted', async () => {
    const { archive } = await hostedConversation()
    await archive.fork('c1', 'c2')
    expect(await contentsOf(archive, 'c2')).toEqual(contents)
    const originals = Object.keys(await filesOf(archive, 'c1'))
    const copies = Object.keys(await filesOf(archive, 'c2'))
    expect(copies).toHaveLength(originals.length)
    expect(copies.filter((handle) => originals.includes(handle))).toEqual([])
    await archive.delete('c1')
    expect(await contentsOf(archive, 'c2')).toEqual(contents)
    await archive.delete('c2')
    for (const handle of copies) expect(await archive.file(handle, localScope)).toBe(undefined)
  })

  it('stay in the original when the fork is deleted', async () => {
    const { archive } = await hostedConversation()
    await archive.fork('c1', 'c2')
    await archive.delete('c2')
    expect(await contentsOf(archive, 'c1')).toEqual(contents)
  })

  it('of a fork at an earlier turn are those of the copied turns', async () => {
    const { archive } = await hostedConversation()
    const [first] = (await archive.timeline('c1')).turn_ids
    await archive.fork('c1', 'c2', first)
    expect(await contentsOf(archive, 'c2')).toEqual(contents.filter((content) => !content.includes('third')))
  })

  it('of an imported bundle belong to the importing user, on another machine, too', async () => {
    const bundle = JSON.parse(JSON.stringify(await (await hostedConversation()).archive.exportBundle('c1'))) as unknown
    const { archive } = await hostedConversation()
    const viewer = { ...localScope, user: 'ada' }
    const key = conversationKey(viewer, 'copy')
    await archive.importBundle(bundle, key)
    expect(await contentsOf(archive, key, viewer)).toEqual(contents)
    for (const handle of Object.keys(await filesOf(archive, key, viewer))) expect(await archive.file(handle, localScope)).toBe(undefined)
  })

  it('have no handles where there is no hosting', async () => {
    const { archive } = await hostedConversation()
    const bundle = await archive.exportBundle('c1')
    const bare = createHarness({ replies: [] }).agent.archive
    await bare.importBundle(bundle, 'c2')
    expect(Object.keys(await filesOf(bare, 'c2'))).toEqual([])
  })

  it('a failed copy leaves no conversation and no files, and does not touch an existing conversation', async () => {
    const { archive, hosting, objects, store, clock } = await hostedConversation()
    const failing: Hosting = {
      ...hosting,
      host: (file) =>
        file.physicalPath.endsWith('notes.txt') ? Promise.reject(new Failure('hosting.failed', 'the bucket is gone')) : hosting.host(file),
    }
    const other = createHarness({ replies: [], store, clock, hosting: failing }).agent.archive
    await expect(other.fork('c1', 'c2')).rejects.toMatchObject({ code: 'hosting.failed' })
    await expect(other.head('c2')).rejects.toMatchObject({ code: 'conversation.missing' })
    for await (const key of objects.list('daybook')) expect(key).not.toContain('/c2/')
    await expect(archive.fork('c1', 'c1')).rejects.toMatchObject({ code: 'conversation.exists' })
    await expect(archive.importBundle(await archive.exportBundle('c1'))).rejects.toMatchObject({ code: 'conversation.exists' })
    expect(await contentsOf(archive, 'c1')).toEqual(contents)
  })
})
