import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { foldersOnDisk } from '../../../test/support/workspace-folders.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryFiles } from '../../adapters/files/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { createMemoryWorkspaces } from '../../adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../adapters/workspace/git/git.ts'
import { readWorkspacePublish } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { localScope } from '../../core/scope.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { historyOf } from '../../tools/artifacts/history.ts'
import { defineTool } from '../../tools/define.ts'
import { recordsOf } from '../conversation/history.ts'

const write = (path: string, content: string) => reply.call('react.write', { path, channel: 'canvas', content, kind: 'display' })
const createTestHarness = (replies: readonly Reply[], options: Partial<HarnessOptions> = {}) => createHarness({ replies, ...options })
const promptOf = (harness: Harness, decision: number) =>
  harness.model.requests
    .filter(({ role }) => role === 'decision')
    [decision]?.parts.map((part) => ('text' in part ? part.text : ''))
    .join('\n') ?? ''

function createStoreAndWorkspaces(kind: Workspaces['implementation']) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  if (kind === 'custom') return { clock, store, workspaces: createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles }) }
  const root = mkdtempSync(join(tmpdir(), 'daybook-announce-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return { clock, store, workspaces: createGitWorkspaces({ ...foldersOnDisk(root), root, blobs: store.blobs }) }
}

const workspaceSection = (harness: Harness, decision: number) => /\n\[WORKSPACE\](?:\n .*)*/.exec(promptOf(harness, decision))?.[0]

describe.each(['custom', 'git'] as const)('the announcement of a %s workspace', (kind) => {
  it('is in the first prompt of every turn, from the journal, and opens no workspace', async () => {
    const { store, clock, workspaces: real } = createStoreAndWorkspaces(kind)
    let opened = 0
    const workspaces: Workspaces = {
      ...real,
      open: (...owner) => {
        opened++
        return real.open(...owner)
      },
    }
    const openedAtPrompt: number[] = []
    const answerAndCount =
      (text: string): Reply =>
      ({ role }) => {
        if (role === 'decision') openedAtPrompt.push(opened)
        return reply.answer(text)
      }
    const replies: readonly Reply[] = [
      answerAndCount('Hello.'),
      write('files/app/a.md', 'one'),
      write('files/notes.md', 'n'),
      reply.answer('Done.'),
      answerAndCount('Still here.'),
    ]
    const harness = createTestHarness(replies, { store, clock, workspaces })
    const first = await harness.say('Hello.')
    expect(workspaceSection(harness, 0)?.split('\n').slice(1)).toEqual([
      '[WORKSPACE]',
      `  implementation: ${kind}`,
      `  current_turn_root: ${first.turnId}/`,
      '  current editable workspace: (empty)',
      '  ls workspace: (empty)',
    ])
    const second = await harness.say('Write.')
    const openedBefore = opened
    const third = await harness.say('And?')
    expect(workspaceSection(harness, 4)?.split('\n').slice(1)).toEqual([
      '[WORKSPACE]',
      `  implementation: ${kind}`,
      `  current_turn_root: ${third.turnId}/`,
      '  current editable workspace: (empty)',
      '  ls workspace:',
      '    - app (1 file)',
      '    - notes.md (1 file)',
      `  last_published_turn: ${second.turnId}`,
    ])
    expect(openedAtPrompt).toEqual([0, openedBefore])
  })

  it('names the newest version in later rounds, too', async () => {
    const { store, clock, workspaces } = createStoreAndWorkspaces(kind)
    const replies = [write('files/app/a.md', 'one'), reply.answer('Done.'), write('files/b.md', 'two'), reply.answer('Done.')]
    const harness = createTestHarness(replies, { store, clock, workspaces })
    const { turnId } = await harness.say('Write.')
    await harness.say('More.')
    expect(workspaceSection(harness, 3)).toMatch(
      /\n {2}current editable workspace:\n {4}- b\.md \(1 file\)\n(?:.*\n)*? {2}ls workspace:\n {4}- app/,
    )
    expect(workspaceSection(harness, 3)).toContain(`  last_published_turn: ${turnId}`)
  })
})

describe('the outcome of a publish', () => {
  it('is a notice in the next turn when it failed', async () => {
    const { store, clock, workspaces: memory } = createStoreAndWorkspaces('custom')
    const fail = async () => Promise.reject(new Failure('workspace.failed', 'no room on /var/lib/x'))
    const workspaces: Workspaces = { ...memory, open: async (...owner) => ({ ...(await memory.open(...owner)), publish: fail }) }
    const harness = createTestHarness([write('files/a.md', 'one'), reply.answer('Done.'), reply.answer('Still here.')], {
      store,
      clock,
      workspaces,
    })
    const { turnId } = await harness.say('Write.')
    await harness.say('And?')
    expect(promptOf(harness, 2)).toContain(
      `[REACT NOTICE]\ncode: workspace_publish_failed\nThe files of ${turnId} were not saved as a version, so later turns can not check them out. Reason: no room on`,
    )
    expect(promptOf(harness, 2)).not.toContain('/var/lib')
  })

  it('keeps what tools made on purpose under any name, and leaves out what a program left there, even if it was read', async () => {
    const build = defineTool({
      id: 'shop.build',
      description: '',
      params: z.object({}),
      async run(_, { workspace, origin }) {
        const { files } = await workspace()
        const folder = `${origin.turnId}/files`
        for (const name of ['debug.log', 'report.md']) await files.write(`${folder}/logs/${name}`, Buffer.from('made by a program'))
        return { artifact_type: 'files', files: [{ path: `${folder}/logs/report.md`, visibility: 'internal' }] }
      },
    })
    const harness = createTestHarness(
      [
        write('files/logs/today.md', 'one\n'),
        reply.call('react.patch', { path: 'files/logs/today.md', channel: 'canvas', patch: '@@ -1 +1 @@\n-one\n+two\n', kind: 'display' }),
        reply.call('shop.build', {}),
        reply.call('react.read', { paths: ['files/logs/debug.log'] }),
        reply.answer('Done.'),
      ],
      { tools: [build] },
    )
    const { turnId } = await harness.say('Write.')
    const timeline = await harness.timeline()
    const records = recordsOf(harness.store, 'c1')
    const workspace = await harness.workspaces.open(localScope, 'c1')
    const version = await workspace.version(turnId, historyOf({ records, blobs: harness.store.blobs }))
    expect(version?.map(({ rel }) => rel)).toEqual(['logs/report.md', 'logs/today.md'])
    expect(blocksOf(timeline).flatMap((block) => readWorkspacePublish(block)?.left_out ?? [])).toEqual([{ name: 'logs', files: 1 }])
  })

  it('tells the model no credential of the remote', async () => {
    const { store, clock, workspaces: memory } = createStoreAndWorkspaces('custom')
    const fail = async () => Promise.reject(new Failure('workspace.failed', 'cannot reach https://me:hunter22@git.example/files.git'))
    const workspaces: Workspaces = { ...memory, open: async (...owner) => ({ ...(await memory.open(...owner)), publish: fail }) }
    const replies = [write('files/a.md', 'one'), reply.answer('Done.'), reply.answer('Still here.')]
    const harness = createTestHarness(replies, { store, clock, workspaces })
    await harness.say('Write.')
    await harness.say('And?')
    expect(promptOf(harness, 2)).toContain('Reason: cannot reach https://me:')
    expect(JSON.stringify(await harness.journal())).not.toContain('hunter22')
  })

  it('names the files that were left out, and says nothing when none were', async () => {
    const install = defineTool({
      id: 'shop.install',
      description: '',
      params: z.object({}),
      async run(_, { workspace, origin }) {
        const { files } = await workspace()
        for (const name of ['a.js', 'b.js']) await files.write(`${origin.turnId}/files/app/node_modules/${name}`, Buffer.from('x'))
        return 'installed'
      },
    })
    const replies = [write('files/app/a.md', 'one'), reply.answer('Done.'), reply.call('shop.install', {}), write('files/app/b.md', 'two')]
    const harness = createTestHarness([...replies, reply.answer('Done.'), reply.answer('Here.')], { tools: [install] })
    await harness.say('Write.')
    const { turnId } = await harness.say('Install.')
    expect(promptOf(harness, 2)).not.toContain('workspace_files_left_out')
    await harness.say('And?')
    expect(promptOf(harness, 5)).toContain(
      `code: workspace_files_left_out\nThe saved version of ${turnId} lacks files that programs can make again: app/node_modules (2 files)`,
    )
    expect(promptOf(harness, 5).match(/workspace_files_left_out/g)).toHaveLength(1)
  })

  it('is told in the same turn when the turn goes on', async () => {
    const { store, clock, workspaces: memory } = createStoreAndWorkspaces('custom')
    let publishes = 0
    const workspaces: Workspaces = {
      ...memory,
      async open(owner, conversationId) {
        const workspace = await memory.open(owner, conversationId)
        return {
          ...workspace,
          async publish(...request) {
            if (publishes++ > 0) return workspace.publish(...request)
            await harness.agent.send(harness.conversationId, 'One more thing.') // arrives during the publish, so the answer is deferred
            throw new Failure('workspace.failed', 'no room')
          },
        }
      },
    }
    const replies = [write('files/a.md', 'one'), reply.answer('Done.'), reply.answer('More.')]
    const harness: Harness = createTestHarness(replies, { store, clock, workspaces })
    expect(await harness.say('Write.')).toMatchObject({ ok: true, answer: 'More.' })
    expect(promptOf(harness, 2)).toContain('code: workspace_publish_failed')
  })
})
