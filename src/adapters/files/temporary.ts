import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Files } from '../../ports/files.ts'
import { createDiskFiles } from './disk.ts'
import { removeFolder } from './remove-folder.ts'

/** Creates an empty folder in the system's folder for temporary files. Only this user can open it. `remove` removes it with its files. */
export async function createTemporaryFolder(): Promise<{
  readonly path: string
  openFiles(folder: string): Files
  remove(): Promise<void>
}> {
  const path = await mkdtemp(join(tmpdir(), 'daybook-'))
  return {
    path,
    openFiles: (folder) => createDiskFiles({ folder: join(path, folder) }),
    remove: () => removeFolder(path),
  }
}
