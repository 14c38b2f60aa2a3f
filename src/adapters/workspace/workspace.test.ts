import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { foldersOnDisk } from '../../../test/support/workspace-folders.ts'
import { describeWorkspaces } from '../../testing/conformance/workspace/workspace.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createMemoryFiles } from '../files/memory.ts'
import { createTemporaryFolder } from '../files/temporary.ts'
import { createCustomWorkspaces, createMemoryWorkspaces } from './custom/custom.ts'
import { createGitWorkspaces } from './git/git.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-workspace-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const freshFolder = () => mkdtempSync(join(root, 'f-'))
const runner = { describe, it, expect }

describeWorkspaces(runner, 'custom, in memory', async () => {
  const blobs = createMemoryBlobs()
  const machine = () => createMemoryWorkspaces({ blobs, createFiles: createMemoryFiles, openTemporary: createTemporaryFolder })
  return { workspaces: machine(), elsewhere: async () => machine() }
})

describeWorkspaces(runner, 'custom, on disk', async () => {
  const blobs = createMemoryBlobs()
  const machine = () => createCustomWorkspaces({ ...foldersOnDisk(freshFolder()), blobs })
  return { workspaces: machine(), elsewhere: async () => machine() }
})

describeWorkspaces(runner, 'git', async () => {
  const remote = join(freshFolder(), 'origin.git')
  const blobs = createMemoryBlobs()
  execFileSync('git', ['init', '--quiet', '--bare', remote])
  const machine = () => {
    const folder = freshFolder()
    return createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, remote, blobs })
  }
  return { workspaces: machine(), elsewhere: async () => machine() }
})
