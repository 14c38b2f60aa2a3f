import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryFiles } from '../../src/adapters/files/memory.ts'
import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../../src/adapters/hosting/memory-objects.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createMemoryWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import type { BlobRef } from '../../src/core/block/index.ts'
import { Failure } from '../../src/core/failure.ts'
import { conversationKey, localScope } from '../../src/core/scope.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import type { Hosting, NewFile } from '../../src/ports/hosting.ts'
import type { Workspaces } from '../../src/ports/workspace.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { createMessageHarness, rejectionsOf, text } from '../support/message-fixture.ts'
import { png } from '../support/sample-files/images.ts'
import { pausedTool } from '../support/scenario-tools.ts'
import { runTurnWith, toolStarted } from '../support/watch-turn.ts'

describe('hosted attachments', () => {
  /** A hosting that records its calls. If `failsAt` is set, it fails at this file. */
  function recordingHosting(failsAt?: string) {
    const hosted: NewFile[] = []
    const removed: string[] = []
    const port: Hosting = {
      async host(file) {
        if (failsAt !== undefined && file.physicalPath.endsWith(failsAt)) throw new Failure('hosting.failed', 'the bucket is gone')
        hosted.push(file)
        const name = `secret-handle/${file.physicalPath}`
        return { key: name, hosted_uri: `file:${name}`, rn: `ef:${name}`, blob: file.content as BlobRef }
      },
      resolve: async () => undefined,
      read: async () => new Uint8Array(),
      stream: async function* () {},
      remove: async (_owner, _conversation, turnId) => void removed.push(turnId ?? ''),
    }
    return { port, hosted, removed }
  }

  it('have their handles only in the meta of their block', async () => {
    const { port, hosted } = recordingHosting()
    const harness = createMessageHarness({
      hosting: port,
      conversationId: conversationKey({ tenant: 't', project: 'p', user: 'u' }, 'chat'),
    })
    await harness.send('See.', [{ name: 'a.png', content: png() }, text('b.txt')])
    const blocks = blocksOf(await harness.timeline())
    const turnId = blocks[0]?.turn_id ?? ''
    expect(hosted).toMatchObject([
      { owner: { tenant: 't', project: 'p', user: 'u' }, conversationId: 'chat', turnId, stage: 'attachment', mime: 'image/png' },
      { physicalPath: `${turnId}/attachments/b.txt`, mime: 'text/plain' },
    ])
    const handles = blocks.filter(({ meta }) => meta?.key !== undefined)
    expect(handles.map(({ type, meta }) => [type, meta?.filename, meta?.key])).toEqual([
      ['user.attachment', 'a.png', `secret-handle/${turnId}/attachments/a.png`],
      ['user.attachment.meta', 'b.txt', `secret-handle/${turnId}/attachments/b.txt`],
    ])
    expect(JSON.stringify(blocks.map(({ meta: _, ...shown }) => shown))).not.toContain('secret-handle')
    expect(JSON.stringify(harness.model.requests)).not.toContain('secret-handle')
  })

  it('can be resolved only by their owner', async () => {
    const blobs = createMemoryBlobs()
    const hosting = createHosting({ objects: createMemoryObjects(), blobs })
    const clock = createFixedClock()
    const harness = createMessageHarness({ hosting, clock, store: createMemoryStore({ blobs, clock }) })
    await harness.send('See.', [{ name: 'a.png', content: png() }])
    const { rn = '' } = blocksOf(await harness.timeline()).find(({ type }) => type === 'user.attachment')?.meta ?? {}
    const file = await hosting.resolve(rn, localScope)
    if (!file) throw new Error('the owner has the handle')
    expect(file).toMatchObject({ filename: 'a.png', mime: 'image/png' })
    expect(Buffer.from(await hosting.read(file))).toEqual(png())
    expect(await hosting.resolve(rn, { ...localScope, user: 'other' })).toBe(undefined)
  })

  it('are all hosted, or the message is rejected and no handle stays', async () => {
    const { port, removed } = recordingHosting('b.txt')
    const harness = createMessageHarness({ hosting: port })
    expect(await rejectionsOf(harness.send('See.', [text('a.txt'), text('b.txt')]))).toMatchObject([
      { name: 'b.txt', reason: 'store_error' },
    ])
    expect(removed).toHaveLength(1)
    expect(harness.names.size).toBe(0)
    expect(await harness.journal()).toEqual([])
    await rejectionsOf(harness.agent.send(harness.conversationId, 'See.', { attachments: [text('b.txt')] }))
    expect([harness.names.size, removed.length]).toEqual([0, 2])
  })

  it('of an accepted followup that can not be hosted stay without handles, and onProblem reports it', async () => {
    const { port, removed } = recordingHosting('b.txt')
    const work = pausedTool()
    const problems: string[] = []
    const harness = createMessageHarness({
      hosting: port,
      tools: [work.tool],
      replies: [reply.call('paused.work'), reply.answer('Seen.')],
      onProblem: ({ where }) => void problems.push(where),
    })
    await runTurnWith(harness, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await harness.agent.send(harness.conversationId, 'See.', { attachments: [text('a.txt'), text('b.txt')] })
        work.finish()
      },
    })
    const metas = blocksOf(await harness.timeline()).filter(({ type }) => type === 'user.attachment.meta')
    expect(metas.map(({ meta }) => [meta?.filename, meta?.key !== undefined, meta?.keeps?.length])).toEqual([
      ['a.txt', true, 1],
      ['b.txt', false, 1],
    ])
    expect([problems, removed]).toEqual([['attachment hosting'], []])
  })
})

describe('attachments that can not be placed in the workspace', () => {
  it('do not stop the turn, and onProblem reports them', async () => {
    const problems: string[] = []
    const base = createMemoryWorkspaces({ blobs: createMemoryBlobs(), createFiles: createMemoryFiles })
    const workspaces: Workspaces = {
      ...base,
      async open(...args) {
        const workspace = await base.open(...args)
        const write: typeof workspace.files.write = async (path, ...rest) => {
          if (path.includes('/attachments/')) throw new Failure('file.unsafe', 'a link', { details: { reason: 'symlink_blocked', path } })
          return workspace.files.write(path, ...rest)
        }
        return { ...workspace, files: { ...workspace.files, write } }
      },
    }
    const replies = [
      reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: 'a', kind: 'file' }),
      reply.answer('Done.'),
    ]
    const harness = createMessageHarness({ workspaces, replies, onProblem: ({ where }) => problems.push(where) })
    const { exitReason } = await harness.send('See.', [text('b.txt')])
    expect(exitReason).toBe('complete')
    expect(new Set(problems)).toEqual(new Set(['attachments']))
    expect(JSON.stringify(await harness.timeline())).toContain('files/a.md')
  })
})
