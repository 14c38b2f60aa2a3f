import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createDiskFiles } from '../../src/adapters/files/disk.ts'

/** Folders for workspaces below one of the disk. */
export const foldersOnDisk = (root: string) => ({
  openFiles: (folder: string) => createDiskFiles({ folder: join(root, folder) }),
  removeFiles: (folder: string) => rm(join(root, folder), { recursive: true, force: true }),
})
