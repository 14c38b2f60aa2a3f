import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Files } from '../../ports/files.ts'
import { describeWorkspaces } from '../../testing/conformance/workspace.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createDiskFiles } from '../files/disk.ts'
import { createMemoryFiles } from '../files/memory.ts'
import { createCustomWorkspaces } from './custom.ts'
import { createGitWorkspaces } from './git.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-workspace-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const freshFolder = () => mkdtempSync(join(root, 'f-'))
const runner = { describe, it, expect }

function inMemory() {
  const opened = new Map<string, Files>()
  return {
    openFiles(folder: string) {
      const files = opened.get(folder) ?? createMemoryFiles()
      opened.set(folder, files)
      return files
    },
    async removeFiles(folder: string) {
      for (const name of [...opened.keys()]) if (name.startsWith(`${folder}/`)) opened.delete(name)
    },
  }
}

const onDisk = (folder: string) => ({
  openFiles: (name: string) => createDiskFiles({ folder: join(folder, name) }),
  removeFiles: (name: string) => rm(join(folder, name), { recursive: true, force: true }),
})

describeWorkspaces(runner, 'custom, in memory', async () => {
  const blobs = createMemoryBlobs()
  const machine = () => createCustomWorkspaces({ ...inMemory(), blobs })
  return { workspaces: machine(), elsewhere: async () => machine() }
})

describeWorkspaces(runner, 'custom, on disk', async () => {
  const blobs = createMemoryBlobs()
  const machine = () => createCustomWorkspaces({ ...onDisk(freshFolder()), blobs })
  return { workspaces: machine(), elsewhere: async () => machine() }
})

describeWorkspaces(runner, 'git', async () => {
  const remote = join(freshFolder(), 'origin.git')
  execFileSync('git', ['init', '--quiet', '--bare', remote])
  const machine = () => {
    const folder = freshFolder()
    return createGitWorkspaces({ ...onDisk(folder), root: folder, remote })
  }
  return { workspaces: machine(), elsewhere: async () => machine() }
})
