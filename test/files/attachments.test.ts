import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createPdfReader } from '../../src/adapters/documents/pdf.ts'
import { createMemoryFiles } from '../../src/adapters/files/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createMemoryWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { documentEligibleMimes } from '../../src/core/sources/source.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import type { Workspaces } from '../../src/ports/workspace.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type HarnessOptions } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import type { Rejection, Upload } from '../../src/tools/attachments/upload.ts'
import { defineTool } from '../../src/tools/define.ts'
import { failingStore } from '../support/crash/failing-store.ts'
import { createMessageHarness, rejectionsOf, text } from '../support/message-fixture.ts'
import { accepted } from '../support/sample-files/accepted.ts'
import { hostile } from '../support/sample-files/hostile.ts'
import { png } from '../support/sample-files/images.ts'
import { pdf } from '../support/sample-files/pdf.ts'
import { office, zip } from '../support/sample-files/zip.ts'
import { pausedTool } from '../support/scenario-tools.ts'
import { runTurnWith, toolStarted } from '../support/watch-turn.ts'

const documents = createPdfReader()
afterAll(() => documents.close())

describe('a message with a rejected file', () => {
  it.each(hostile)('stores nothing: $what', async ({ upload, reason, finding }) => {
    const harness = createMessageHarness({ documents })
    const rejections = await rejectionsOf(harness.send('See.', [text('good.txt'), upload()]))
    expect(rejections).toContainEqual(expect.objectContaining({ reason, ...(finding && { finding }) }))
    expect(harness.names.size).toBe(0)
    expect((await harness.store.list({})).conversations).toEqual([])
    expect(harness.model.requests).toEqual([])
  })

  it('leaves the conversation unchanged, and the next message is accepted', async () => {
    const harness = createMessageHarness()
    await harness.send('See.', [text('a.txt')])
    const before = await harness.store.exportBundle(harness.conversationId)
    const names = [...harness.names]
    await rejectionsOf(harness.send('And this.', [text('b.txt'), text('a.txt'), { name: 'c.png', content: 'x' }]))
    expect(await harness.store.exportBundle(harness.conversationId)).toEqual(before)
    expect([...harness.names]).toEqual(names)
    expect(await harness.send('Again.', [text('b.txt')])).toMatchObject({ exitReason: 'complete' })
  })

  it('makes agent.send reject, and creates no conversation', async () => {
    const harness = createMessageHarness()
    const bad = { attachments: [text('good.txt'), { name: 'a.png', content: 'x' }] }
    const { agent, conversationId } = harness
    await rejectionsOf(agent.send(conversationId, 'See.', bad))
    expect([harness.names.size, (await harness.store.list({})).conversations]).toEqual([0, []])
    expect(await agent.send(conversationId, 'See.', { attachments: [text('good.txt')] })).toMatchObject({ how: 'turn' })
    expect(JSON.stringify(await harness.journal())).toContain('good.txt')
    await agent.close()
  })

  it('tools 18.107: each file is rejected with its own reason, and files of earlier messages of that turn stay', async () => {
    const work = pausedTool()
    const harness = createMessageHarness({ tools: [work.tool], replies: [reply.call('paused.work'), reply.answer('Seen.')] })
    const bad: readonly Upload[] = [
      { name: 'large.png', content: Buffer.concat([png(), Buffer.alloc(6 * 1024 * 1024)]) },
      { name: 'files.zip', content: zip([{ name: 'a', content: 'a' }]) },
      { name: 'letter.docm', content: office('docx', [{ name: 'word/vbaProject.bin', content: 'x' }]) },
      { name: 'run.png', content: '#!/bin/sh\necho hi\n' },
    ]
    const rejected = new Map<string, Rejection>()
    await runTurnWith(harness, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await harness.agent.send(harness.conversationId, 'A good one.', { attachments: [text('first.txt')] })
        const before = [...harness.names]
        for (const upload of bad) {
          const [rejection] = await rejectionsOf(
            harness.agent.send(harness.conversationId, 'And this.', { attachments: [text('with.txt'), upload] }),
          )
          if (rejection) rejected.set(rejection.name, rejection)
        }
        expect([...harness.names]).toEqual(before)
        work.finish()
      },
    })
    expect([...rejected.values()].map(({ name, reason, finding }) => [name, reason, finding])).toEqual([
      ['large.png', 'size_limit', undefined],
      ['files.zip', 'preflight_rejected', 'archive'],
      ['letter.docm', 'preflight_rejected', 'macros'],
      ['run.png', 'preflight_rejected', 'type_mismatch'],
    ])
    expect(new Set([...rejected.values()].map(({ message }) => message)).size).toBe(4)
    const journal = JSON.stringify(await harness.journal())
    expect(journal).toContain('first.txt')
    for (const absent of ['with.txt', 'And this.', ...rejected.keys()]) expect(journal).not.toContain(absent)
  })
})

describe('a message with accepted files', () => {
  it('records a digest for each file, and its bytes survive an export', async () => {
    const harness = createMessageHarness({ documents })
    const uploads = accepted.map(([upload]) => upload).slice(0, 20)
    await harness.send('See.', uploads)
    const blocks = blocksOf(await harness.timeline())
    const metas = blocks.filter(({ type }) => type === 'user.attachment.meta')
    const shown = blocks.filter(({ type }) => type === 'user.attachment')
    expect(metas.map(({ meta }) => meta?.filename)).toEqual(uploads.map(({ name }) => name))
    expect(shown.map(({ mime }) => mime)).toEqual(metas.map(({ meta }) => meta?.mime).filter((mime) => /^image|pdf$/.test(String(mime))))
    expect(shown.find(({ mime }) => mime === 'application/pdf')?.meta).toMatchObject({ page_count: 2 })
    expect(shown[0]?.meta).toMatchObject({ width: 7, height: 3 })
    const elsewhere = createMemoryBlobs()
    const copy = createMemoryStore({ blobs: elsewhere, clock: harness.clock })
    await copy.importBundle(await harness.store.exportBundle(harness.conversationId))
    for (const { content } of uploads) {
      const { sha256 } = await createMemoryBlobs().put(Buffer.from(content as string))
      expect(Buffer.from(await elsewhere.get(sha256))).toEqual(Buffer.from(content as string))
    }
    await harness.store.delete(harness.conversationId)
    expect(harness.names.size).toBe(0)
  })

  it('timeline 11.115: gives a source number to citable files: images by default, or the types of the settings', async () => {
    const uploads = [
      { name: 'a.png', content: png() },
      { name: 'b.pdf', content: pdf(['x']) },
      text('c.txt'),
      { name: 'd.xlsx', content: office('xlsx') },
    ]
    const rowsWith = async (options: Partial<HarnessOptions>) => {
      const harness = createMessageHarness(options)
      await harness.send('See.', uploads)
      return (await harness.timeline()).sources.rows.map(({ title, source_type, mime }) => [title, source_type, mime])
    }
    expect(await rowsWith({})).toEqual([['a.png', 'attachment', 'image/png']])
    expect(await rowsWith({ settings: { sources: { eligibleMimes: documentEligibleMimes } } })).toEqual([
      ['a.png', 'attachment', 'image/png'],
      ['b.pdf', 'attachment', 'application/pdf'],
      ['c.txt', 'attachment', 'text/plain'],
    ])
  })

  it('gives a source number to citable files that the agent writes', async () => {
    const titles = async (settings: HarnessOptions['settings']) => {
      const workspaces = createMemoryWorkspaces({ blobs: createMemoryBlobs(), createFiles: createMemoryFiles })
      const write = reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: '# A', kind: 'file' })
      const harness = createMessageHarness({ workspaces, replies: [write, reply.answer('Done.')], ...(settings && { settings }) })
      await harness.send('Write.', [])
      return (await harness.timeline()).sources.rows.map(({ title, source_type }) => [title, source_type])
    }
    expect(await titles(undefined)).toEqual([])
    expect(await titles({ sources: { eligibleMimes: documentEligibleMimes } })).toEqual([['a.md', 'file']])
  })

  it('shows the model the summary of the summariser', async () => {
    const harness = createMessageHarness({ attachments: { summarise: async ({ name }) => `all about ${name}` } })
    await harness.send('See.', [text('a.txt')])
    expect(JSON.stringify(harness.model.requests[0])).toContain('summary: all about a.txt')
  })

  it('comes before a message that was sent after it, however long its scan takes', async () => {
    const scanning = Promise.withResolvers<{ readonly clean: true }>()
    const harness = createMessageHarness({ attachments: { scan: () => scanning.promise } })
    const first = harness.send('First.', [text('a.txt')])
    const second = harness.send('Second.', [])
    scanning.resolve({ clean: true })
    await Promise.all([first, second])
    const messages = blocksOf(await harness.timeline()).filter(({ type }) => type === 'user.prompt' || type === 'user.followup')
    expect(messages.map(({ text }) => text)).toEqual(['First.', 'Second.'])
  })

  it('does not wait for an earlier message that is rejected', async () => {
    const harness = createMessageHarness()
    const refused = rejectionsOf(harness.send('First.', [{ name: 'a.png', content: 'x' }]))
    expect(await harness.send('Second.', [])).toMatchObject({ exitReason: 'complete' })
    await refused
  })
})

describe('a message that can not be stored', () => {
  it('leaves none of its blobs, and removes no blob that existed before', async () => {
    const blobs = createMemoryBlobs()
    const clock = createFixedClock()
    const whole = createMemoryStore({ blobs, clock })
    const existing = await blobs.put(Buffer.from('existing'))
    const harness = createMessageHarness({ clock, store: failingStore(whole, { append: 1, side: 'before' }) })
    await expect(harness.send('See.', [text('mine.txt', 'mine'), text('theirs.txt', 'existing')])).rejects.toMatchObject({
      code: 'store.failed',
    })
    const mine = await createMemoryBlobs().put(Buffer.from('mine'))
    expect([await blobs.has(mine.sha256), await blobs.has(existing.sha256)]).toEqual([false, true])
  })

  it('that was delivered before under the same event id stores nothing', async () => {
    const harness = createMessageHarness()
    await harness.agent.send(harness.conversationId, 'See.', { eventId: 'e1', attachments: [text('a.txt')] })
    await harness.agent.close()
    const names = [...harness.names]
    const next = createHarness({ replies: [reply.answer('Seen.')], store: harness.store, clock: harness.clock })
    await next.agent.recover()
    await next.agent.send(harness.conversationId, 'See.', { eventId: 'e1', attachments: [text('other.txt')] })
    expect([...harness.names]).toEqual(names)
    expect(names).toHaveLength(1)
  })
})

describe('attachments of a turn', () => {
  const listFiles = defineTool({
    id: 'list.files',
    description: 'Lists the files.',
    params: z.object({}),
    run: async (_, { workspace }) => {
      const { files } = (await (await workspace()).files.list('')) as { files: readonly { path: string; readOnly: boolean }[] }
      return files.map(({ path, readOnly }) => `${path.split('/').slice(1).join('/')} ${readOnly}`).join('\n')
    },
  })

  function fakeWorkspaces() {
    const files = createMemoryFiles()
    const nothing = async () => {}
    const workspace = {
      files,
      scratch: files,
      runtime: createMemoryFiles(),
      adoptVersion: nothing,
      startTurn: nothing,
      describe: async () => ({}),
    }
    // the turn reads only the files of the workspace
    return { files, parts: { implementation: 'custom', open: async () => workspace, remove: nothing } as unknown as Workspaces }
  }

  it('are in the workspace from its first use on, including those that arrive later', async () => {
    const { parts } = fakeWorkspaces()
    const work = pausedTool()
    const replies = [reply.call('list.files'), reply.call('paused.work'), reply.call('list.files'), reply.answer('Seen.')]
    const harness = createMessageHarness({ workspaces: parts, tools: [listFiles, work.tool], replies })
    const turn = harness.agent.run(harness.conversationId, 'See.', { attachments: [text('a.txt'), text('a.txt', 'other')] })
    for await (const event of turn) {
      if (event.type !== 'status' || event.status !== 'tool.started' || event.tool_id !== 'paused.work') continue
      await harness.agent.send(harness.conversationId, 'And.', { attachments: [{ name: 'b.png', content: png() }] })
      work.finish()
    }
    const results = blocksOf(await harness.timeline()).filter(
      ({ type, text }) => type === 'react.tool.result' && text?.startsWith('attachments/'),
    )
    expect(results.map(({ text }) => text)).toEqual([
      'attachments/a-2.txt true\nattachments/a.txt true',
      'attachments/a-2.txt true\nattachments/a.txt true\nattachments/b.png true',
    ])
  })

  it('are not written into the workspace in a turn that does not use it', async () => {
    const { parts, files } = fakeWorkspaces()
    await createMessageHarness({ workspaces: parts }).send('See.', [text('a.txt')])
    expect((await files.list('')).files).toEqual([])
  })
})
