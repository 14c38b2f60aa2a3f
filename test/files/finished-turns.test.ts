import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { Failure } from '../../src/core/failure.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { Workspaces } from '../../src/ports/workspace.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-finished-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const kinds: Record<string, (folder: string, blobs: BlobStore) => Workspaces> = {
  custom: (folder, blobs) => createCustomWorkspaces({ ...foldersOnDisk(folder), blobs }),
  git: (folder, blobs) => createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs }),
}

const write = (path: string, content: string) => reply.call('react.write', { path, channel: 'canvas', content, kind: 'display' })

describe.each(Object.entries(kinds))('the folders of finished turns (%s)', (_, create) => {
  function conversation() {
    const folder = mkdtempSync(join(root, 'f-'))
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const outDir = join(folder, 'local/default/local/c1/out/workdir')
    return {
      turns: () => (existsSync(outDir) ? readdirSync(outDir).filter((name) => name.startsWith('turn_')) : []),
      run: (replies: readonly Reply[], change: (workspaces: Workspaces) => Workspaces = (workspaces) => workspaces) =>
        createHarness({ replies, store, clock, workspaces: change(create(folder, store.blobs)) }).say('Go on.'),
    }
  }

  it('are removed once a version was left, also those into which files were pulled', async () => {
    const { run, turns } = conversation()
    const first = await run([write('files/app/a.md', 'a'), write('outputs/o.md', 'o'), reply.answer('Done.')])
    expect(turns()).toEqual([])
    await run([
      reply.call('react.pull', { paths: [`fi:${first.turnId}.files`] }),
      reply.call('react.checkout', { paths: [`fi:${first.turnId}.files`] }),
      write('files/app/b.md', 'b'),
      reply.answer('Done.'),
    ])
    expect(turns()).toEqual([])
  })

  it('stay when no version was left, because they may hold the only copy', async () => {
    const { run, turns } = conversation()
    const failing = (workspaces: Workspaces): Workspaces => ({
      ...workspaces,
      open: async (owner, conversationId) => ({
        ...(await workspaces.open(owner, conversationId)),
        publish: () => Promise.reject(new Failure('workspace.failed', 'no room')),
      }),
    })
    const first = await run([write('files/app/a.md', 'a'), reply.answer('Done.')], failing)
    expect(turns()).toEqual([first.turnId])
    await run([write('files/app/b.md', 'b'), reply.answer('Done.')])
    expect(turns()).toEqual([first.turnId])
  })
})
