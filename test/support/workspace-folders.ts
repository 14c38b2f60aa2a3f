import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createDiskFiles } from '../../src/adapters/files/disk.ts'

/** Opens and removes the folders of workspaces below a folder on disk. */
export const foldersOnDisk = (root: string) => ({
  openFiles: (folder: string) => createDiskFiles({ folder: join(root, folder) }),
  pathOf: (folder: string) => join(root, folder),
  removeFiles: (folder: string) => rm(join(root, folder), { recursive: true, force: true }),
})
