import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { localScope } from '../../src/core/scope.ts'
import { blocksOfChange } from '../../src/core/timeline/change.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { Workspaces } from '../../src/ports/workspace.ts'
import { contentsBelow } from '../../src/testing/conformance/workspace/fixture.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, keepFolders } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { leavingTool } from '../support/scenario-tools.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-left-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const kinds: Record<string, (blobs: BlobStore) => Workspaces> = {
  custom: (blobs) => createCustomWorkspaces({ ...foldersOnDisk(mkdtempSync(join(root, 'c-'))), blobs }),
  git: (blobs) => {
    const folder = mkdtempSync(join(root, 'g-'))
    return createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs })
  },
}

const write = (path: string, content: string) => reply.call('react.write', { path, channel: 'canvas', content, kind: 'display' })

/** Removes a file of the turn. A program may do the same. */
const removingTool = defineTool({
  id: 'sample.remove',
  description: 'Removes a file.',
  params: z.object({ path: z.string() }),
  async run({ path }, { workspace, origin }) {
    return { removed: await (await workspace()).files.remove(`${origin.turnId}/files/${path}`) }
  },
})

const echoTool = defineTool({
  id: 'sample.echo',
  description: 'Returns its text.',
  params: z.object({ text: z.string() }),
  run: ({ text }) => ({ echoed: text }),
})

describe.each(Object.entries(kinds))('what a turn left (%s)', (_, create) => {
  async function conversation() {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const workspaces = keepFolders(create(store.blobs))
    async function run(replies: readonly Reply[]) {
      const tools = [leavingTool(), removingTool, echoTool]
      const harness = createHarness({ replies: [...replies, reply.answer('Done.')], store, clock, workspaces, tools })
      const { turnId } = await harness.say('Go on.')
      const results = (await harness.journal())
        .flatMap(blocksOfChange)
        .filter(({ type, turn_id }) => type === 'react.tool.result' && turn_id === turnId)
        .map(({ text = '' }) => text)
      return { turnId, results: results.join('\n'), workspace: await workspaces.open(localScope, 'c1') }
    }
    return { run }
  }

  it('is the same for read, pull, checkout and references after a program has changed a file', async () => {
    const { run } = await conversation()
    const first = await run([
      write('files/app/a.md', 'WRITTEN'),
      reply.call('sample.leave', { files: { 'app/a.md': 'CHANGED BY A PROGRAM' } }),
    ])
    const path = `fi:${first.turnId}.files/app/a.md`
    const read = await run([reply.call('react.read', { paths: [path] })])
    expect([read.results.includes('CHANGED BY A PROGRAM'), read.results.includes('WRITTEN')]).toEqual([true, false])
    const bound = await run([reply.call('sample.echo', { text: `ref:${path}` })])
    expect(bound.results).toContain('CHANGED BY A PROGRAM')
    const pulled = await run([reply.call('react.pull', { paths: [path] })])
    expect(await contentsBelow(pulled.workspace, `${first.turnId}/files`)).toEqual({ 'app/a.md': 'CHANGED BY A PROGRAM' })
    const checkedOut = await run([reply.call('react.checkout', { paths: [path] })])
    const again = await run([reply.call('react.pull', { paths: [`fi:${checkedOut.turnId}.files/app/a.md`] })])
    expect(await contentsBelow(again.workspace, `${checkedOut.turnId}/files`)).toEqual({ 'app/a.md': 'CHANGED BY A PROGRAM' })
  })

  it('lacks a file that a program has deleted, in the same turn and in later ones', async () => {
    const { run } = await conversation()
    const first = await run([
      write('files/app/a.md', 'WRITTEN'),
      write('files/app/b.md', 'KEPT'),
      reply.call('sample.remove', { path: 'app/a.md' }),
      reply.call('react.read', { paths: ['fi:files/app/a.md', 'files/app/a.md'], stats_only: true }),
    ])
    expect(first.results.split('sample.remove').at(-1)).toContain('"missing"')
    const path = `fi:${first.turnId}.files/app/a.md`
    for (const call of [
      reply.call('react.read', { paths: [path] }),
      reply.call('react.pull', { paths: [path] }),
      reply.call('react.checkout', { paths: [path] }),
      reply.call('sample.echo', { text: `ref:${path}` }),
    ]) {
      expect((await run([call])).results).not.toContain('WRITTEN')
    }
  })
})
