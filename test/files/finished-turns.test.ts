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
import { runPlannedTurn } from '../support/histories/run-turn.ts'
import { createSystem } from '../support/histories/world.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-finished-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const kinds: Record<Workspaces['implementation'], (folder: string, blobs: BlobStore) => Workspaces> = {
  custom: (folder, blobs) => createCustomWorkspaces({ ...foldersOnDisk(folder), blobs }),
  git: (folder, blobs) => createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs }),
}

const write = (path: string, content: string) => reply.call('react.write', { path, channel: 'canvas', content, kind: 'display' })

describe.each(['custom', 'git'] as const)('the folders of finished turns (%s)', (kind) => {
  const create = kinds[kind]
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

  it('are removed once a version was left, including those into which files were pulled', async () => {
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

  it('are removed if they have neither files nor outputs', async () => {
    const { run, turns } = conversation()
    const first = await run([write('files/app/a.md', 'a'), reply.answer('Done.')])
    await run([reply.call('react.pull', { paths: [`fi:${first.turnId}.files`] }), reply.answer('Done.')])
    await run([reply.call('react.read', { paths: [`fi:${first.turnId}.files/app/a.md`] }), reply.answer('Done.')])
    expect(turns()).toEqual([])
    const third = await run([write('outputs/o.md', 'o'), reply.answer('Done.')])
    expect(turns()).toEqual([third.turnId])
  })

  it('are removed when the process died and a process on another machine ended the turn', async () => {
    const place = mkdtempSync(join(root, 'h-'))
    const system = await createSystem(place, kind)
    const program = { do: 'program', changes: { 'x.md': 'x' } } as const
    const crashed = { machine: 0, calls: [program], crashes: [{ append: 5, side: 'before', machine: 1 } as const] }
    const before = await runPlannedTurn(system, { id: 'c1', turns: [] }, crashed, () => {})
    const next = { machine: 0, calls: [{ do: 'write', rel: 'y.md', content: 'y' } as const], crashes: [] }
    await runPlannedTurn(system, before, next, () => {})
    expect(readdirSync(join(place, 'a/local/default/local/c1/out/workdir'))).toEqual(['.daybook'])
    await system.close()
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
