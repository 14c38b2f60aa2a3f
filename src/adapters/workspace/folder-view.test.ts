import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { foldersOnDisk } from '../../../test/support/workspace-folders.ts'
import { localScope } from '../../core/scope.ts'
import type { Files } from '../../ports/files.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { beginTurn, createTestJournal } from '../../testing/conformance/workspace/fixture.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createCustomWorkspaces } from './custom/custom.ts'
import { createGitWorkspaces } from './git/git.ts'
import { conversationFolder } from './names.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-folder-view-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** Folders on disk that record every listing and every read, and a git program that records when it is started. */
function observedFolders() {
  const folder = mkdtempSync(join(root, 'f-'))
  const disk = foldersOnDisk(folder)
  const log: string[] = []
  const observe = (files: Files): Files => ({
    ...files,
    list: (path, options) => {
      log.push(`list ${path}`)
      return files.list(path, options)
    },
    read: (path, options) => {
      log.push(`read ${path}`)
      return files.read(path, options)
    },
  })
  return { folder, log, folders: { ...disk, openFiles: (name: string) => observe(disk.openFiles(name)) } }
}

const gitStarts = join(root, 'git-starts')
const git = join(root, 'git')
writeFileSync(git, `#!/bin/sh\necho started >> ${gitStarts}\nexec git "$@"\n`, { mode: 0o755 })
const startsOfGit = () =>
  execFileSync('sh', ['-c', `cat ${gitStarts} 2>/dev/null | wc -l`])
    .toString()
    .trim()

const kinds: Record<string, (observed: ReturnType<typeof observedFolders>) => Workspaces> = {
  custom: ({ folders }) => createCustomWorkspaces({ ...folders, blobs: createMemoryBlobs() }),
  git: ({ folders, folder }) => createGitWorkspaces({ ...folders, root: folder, blobs: createMemoryBlobs(), program: git }),
}

describe.each(Object.entries(kinds))('what a %s workspace tells in each round', (_, create) => {
  async function start() {
    const observed = observedFolders()
    const workspace = await create(observed).open(localScope, 'c1')
    const journal = createTestJournal()
    const first = await beginTurn(workspace, 'turn_1', journal)
    for (const rel of ['app/a', 'app/b', 'app/node_modules/m.js', 'notes/n']) await first.write(rel, rel)
    await first.publish()
    const turn = await beginTurn(workspace, 'turn_2', journal)
    await turn.checkout('replace', ['turn_1'])
    await workspace.describe('turn_2')
    observed.log.length = 0
    const outside = (rel: string) => join(observed.folder, conversationFolder(localScope, 'c1'), 'out/workdir/turn_2/files', rel)
    return { ...observed, workspace, turn, outside, scopes: async () => (await workspace.describe('turn_2')).editable }
  }

  it('lists no folder, reads no file and starts no git when no program ran', async () => {
    const { log, turn, scopes } = await start()
    const starts = startsOfGit()
    expect(await scopes()).toEqual([
      { name: 'app', files: 2 },
      { name: 'notes', files: 1 },
    ])
    await turn.write('app/c', 'new')
    await turn.write('app/a', 'changed')
    await turn.write('app/node_modules/n.js', 'excluded')
    await turn.write('top.md', 'new')
    await turn.remove('notes/n')
    await turn.remove('notes/n')
    expect(await scopes()).toEqual([
      { name: 'app', files: 3 },
      { name: 'top.md', files: 1 },
    ])
    expect([log, startsOfGit()]).toEqual([[], starts])
  })

  it('lists the folder of the turn once after a program ran, and reads none of its files', async () => {
    const { log, workspace, outside, scopes } = await start()
    mkdirSync(outside('made'))
    writeFileSync(outside('made/by-a-program'), 'x')
    rmSync(outside('app/a'))
    workspace.programRan()
    const expected = [
      { name: 'app', files: 1 },
      { name: 'made', files: 1 },
      { name: 'notes', files: 1 },
    ]
    expect([await scopes(), await scopes()]).toEqual([expected, expected])
    expect(log.filter((entry) => !entry.includes('workspace/turn_2.json'))).toEqual(['list turn_2/files'])
  })

  it('counts a file that is written while the folder is listed', async () => {
    const { workspace, turn, scopes } = await start()
    workspace.programRan()
    await Promise.all([scopes(), turn.write('late/file', 'x')])
    expect(await scopes()).toContainEqual({ name: 'late', files: 1 })
  })

  it('tells the folders of turns that were pulled meanwhile', async () => {
    const { workspace, turn } = await start()
    await turn.write('top.md', 'x')
    expect((await workspace.describe('turn_2')).turnRoots).toEqual(['turn_1/', 'turn_2/'])
    await workspace.files.write('turn_0/outputs/report.md', Buffer.from('x'))
    expect((await workspace.describe('turn_2')).turnRoots).toEqual(['turn_0/', 'turn_1/', 'turn_2/'])
  })
})
