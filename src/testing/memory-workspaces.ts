import { createMemoryFiles } from '../adapters/files/memory.ts'
import { createCustomWorkspaces } from '../adapters/workspace/custom.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Files } from '../ports/files.ts'
import type { Workspaces } from '../ports/workspace.ts'

/** Workspaces whose folders are in memory. */
export function createMemoryWorkspaces(blobs: BlobStore): Workspaces {
  const folders = new Map<string, Files>()
  return createCustomWorkspaces({
    blobs,
    openFiles(folder) {
      const files = folders.get(folder) ?? createMemoryFiles()
      folders.set(folder, files)
      return files
    },
    async removeFiles(folder) {
      for (const name of folders.keys()) if (name === folder || name.startsWith(`${folder}/`)) folders.delete(name)
    },
  })
}
