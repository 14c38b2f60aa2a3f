import type { BlobStore } from '../../ports/blobs.ts'
import type { Files } from '../../ports/files.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { createCustomWorkspaces } from './custom/custom.ts'

/** For tests, and for agents that need no tomorrow: the same workspaces, their folders in memory. */
export function createMemoryWorkspaces({ blobs, createFiles }: { readonly blobs: BlobStore; createFiles(): Files }): Workspaces {
  const folders = new Map<string, Files>()
  return createCustomWorkspaces({
    blobs,
    openFiles(folder) {
      const files = folders.get(folder) ?? createFiles()
      folders.set(folder, files)
      return files
    },
    async removeFiles(folder) {
      for (const name of folders.keys()) if (name === folder || name.startsWith(`${folder}/`)) folders.delete(name)
    },
  })
}
