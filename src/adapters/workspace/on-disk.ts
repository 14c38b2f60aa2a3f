import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../core/failure.ts'
import type { Files } from '../../ports/files.ts'
import type { DiskFolders, Workspace } from '../../ports/workspace.ts'
import type { FolderProvider, WorkspaceFolders } from './workspace.ts'

type Paths = Pick<DiskFolders, 'out' | 'work' | 'runtime'>

/** Makes the function `onDisk` of a workspace. `paths` are the paths of its folders below the root of all workspaces. */
export function createOnDisk(
  { pathOf, openTemporary }: Pick<FolderProvider, 'pathOf' | 'openTemporary'>,
  paths: Paths,
  folders: Omit<WorkspaceFolders, 'onDisk'>,
): Workspace['onDisk'] {
  return async (turnId, use) => {
    if (pathOf) {
      const onDisk = { out: pathOf(paths.out), work: pathOf(paths.work), runtime: pathOf(paths.runtime) }
      await makeFolders(onDisk, turnId)
      return use({ ...onDisk, files: folders.files })
    }
    if (!openTemporary) throw new Failure('workspace.failed', 'the files of this agent are not on disk, so no program can run there')
    const temporary = await openTemporary()
    try {
      const onDisk = { out: join(temporary.path, 'out'), work: join(temporary.path, 'work'), runtime: join(temporary.path, 'runtime') }
      const copies = { files: temporary.openFiles('out'), scratch: temporary.openFiles('work'), runtime: temporary.openFiles('runtime') }
      // The subfolders of `runtime` are not copied: they contain records of earlier programs, which other programs must not see.
      for (const name of ['files', 'scratch', 'runtime'] as const) await copyFiles(folders[name], copies[name], name !== 'runtime')
      await makeFolders(onDisk, turnId)
      try {
        return await use({ ...onDisk, files: copies.files })
      } finally {
        await mirrorFiles(copies.files, folders.files, turnId)
        await mirrorFiles(copies.scratch, folders.scratch, '')
      }
    } finally {
      await temporary.remove()
    }
  }
}

async function makeFolders({ out, work, runtime }: Paths, turnId: string): Promise<void> {
  for (const area of ['files', 'outputs']) await makeIfMissing(join(out, turnId, area))
  await mkdir(work, { recursive: true })
  await mkdir(runtime, { recursive: true })
}

/** Makes a folder, unless an earlier program has put a link or a file at this path. The next program can remove the link or file. */
async function makeIfMissing(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

/** Copies files. Without `subfolders`, only files directly in the folder are copied. */
async function copyFiles(from: Files, to: Files, subfolders: boolean): Promise<void> {
  for (const { path, readOnly } of (await from.list('', { dotEntries: true })).files) {
    if (!subfolders && path.includes('/')) continue
    const bytes = await from.read(path)
    if (bytes) await to.write(path, bytes, { readOnly, durable: false })
  }
}

/** Makes the files in a folder of `to` equal to those of `from`. Read-only files of `to` stay. Links and devices of `from` are left out. */
async function mirrorFiles(from: Files, to: Files, folder: string): Promise<void> {
  const present = (await from.list(folder, { dotEntries: true })).files
  const kept = new Set(present.map(({ path }) => path))
  for (const { path, readOnly } of (await to.list(folder, { dotEntries: true })).files) {
    if (!kept.has(path) && !readOnly) await to.remove(path)
  }
  for (const { path } of present) {
    const bytes = await from.read(path)
    const before = await to.stat(path)
    if (bytes && !before?.readOnly) await to.write(path, bytes)
  }
}
