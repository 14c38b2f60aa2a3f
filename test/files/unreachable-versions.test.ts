import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { readWorkspacePublish } from '../../src/core/block/index.ts'
import { blocksOfChange } from '../../src/core/timeline/change.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { Workspaces } from '../../src/ports/workspace.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type Harness } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { leavingTool } from '../support/scenario-tools.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-unreachable-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const write = (path: string, content: string) => reply.call('react.write', { path, channel: 'canvas', content, kind: 'display' })
const gitWorkspaces = (blobs: BlobStore): Workspaces => {
  const folder = mkdtempSync(join(root, 'g-'))
  return createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs })
}

/** A conversation with one turn that has three files. The journal contains one of them. */
async function conversationWithFiles() {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const workspaces = gitWorkspaces(store.blobs)
  const leave = reply.call('sample.leave', { files: { 'app/b.md': 'b', 'app/c.md': 'c' } })
  const harness = createHarness({
    replies: [write('files/app/a.md', 'a'), leave, reply.answer('Done.')],
    store,
    clock,
    workspaces,
    tools: [leavingTool()],
  })
  const { turnId } = await harness.say('Write.')
  const next = (conversationId: string, replies: readonly Reply[], using: Workspaces = workspaces) =>
    createHarness({ replies, store, clock, workspaces: using, conversationId })
  return { harness, turnId, next }
}

const resultOf = async (harness: Harness, toolId: string) => {
  const blocks = (await harness.journal()).flatMap(blocksOfChange)
  const call = blocks.findLast(({ type, text }) => type === 'react.tool.call' && text?.includes(toolId))
  return blocks
    .filter(({ type, call_id }) => type === 'react.tool.result' && call_id === call?.call_id)
    .map(({ text = '' }) => text)
    .join('\n')
}

describe('a version that can not be reached', () => {
  it('is an error in a copy that an older Daybook has made of a conversation with git, and the next version says that it lacks files', async () => {
    const { harness, turnId, next } = await conversationWithFiles()
    await harness.store.importBundle(await harness.store.exportBundle('c1'), { as: 'c2' })
    // a conversation with lost files can be forked again
    await expect(harness.agent.archive.fork('c2', 'c3')).resolves.toMatchObject({ conversationId: 'c3' })
    for (const [tool, params] of [
      ['react.pull', { paths: [`fi:${turnId}.files/app`] }],
      ['react.checkout', { paths: [`fi:${turnId}.files/app`] }],
    ] as const) {
      const fork = next('c2', [reply.call(tool, params), write('files/new.md', 'new'), reply.answer('Done.')])
      await fork.say('Go on.')
      expect(await resultOf(fork, tool)).toContain('workspace_version_unavailable')
    }
    const records = (await next('c2', []).journal()).flatMap(blocksOfChange).flatMap((block) => readWorkspacePublish(block) ?? [])
    expect(records.filter(({ parent_unavailable }) => parent_unavailable === turnId)).toMatchObject([{ status: 'published' }])
    const later = next('c2', [reply.answer('Bye.')])
    await later.say('Bye.')
    expect(JSON.stringify(later.model.requests[0]?.parts)).toContain(`The version of ${turnId} can not be reached`)
  })

  it('is an error when the conversation is continued with another kind of workspace', async () => {
    const { turnId, next, harness } = await conversationWithFiles()
    const custom = createCustomWorkspaces({ ...foldersOnDisk(mkdtempSync(join(root, 'c-'))), blobs: harness.store.blobs })
    const other = next('c1', [reply.call('react.pull', { paths: [`fi:${turnId}.files`] }), reply.answer('Done.')], custom)
    await other.say('Pull.')
    expect(await resultOf(other, 'react.pull')).toContain('workspace_version_unavailable')
  })
})
