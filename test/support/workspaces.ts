import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createDiskFiles } from '../../src/adapters/files/disk.ts'
import { createMemoryFiles } from '../../src/adapters/files/memory.ts'
import type { Files } from '../../src/ports/files.ts'

/** Folders for workspaces that are nowhere. */
export function foldersInMemory() {
  const opened = new Map<string, Files>()
  return {
    openFiles(folder: string): Files {
      const files = opened.get(folder) ?? createMemoryFiles()
      opened.set(folder, files)
      return files
    },
    async removeFiles(folder: string): Promise<void> {
      for (const name of [...opened.keys()]) if (name.startsWith(`${folder}/`)) opened.delete(name)
    },
  }
}

/** Folders for workspaces below one of the disk. */
export const foldersOnDisk = (root: string) => ({
  openFiles: (folder: string) => createDiskFiles({ folder: join(root, folder) }),
  removeFiles: (folder: string) => rm(join(root, folder), { recursive: true, force: true }),
})
