import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createDiskFiles } from '../adapters/files/disk.ts'
import { countFiles, removeEmptyFolders, removeFolder } from '../adapters/files/remove-folder.ts'
import { createCustomWorkspaces } from '../adapters/workspace/custom/custom.ts'
import type { Settings } from '../config/settings.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Hosting } from '../ports/hosting.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'
import { openMemoryWorkspaces } from './memory-workspaces.ts'
import { hostingOf, openStore, storePaths } from './store.ts'

export type StoreSettings = Pick<Settings, 'data' | 'store' | 'workspace' | 'workspaceRemote'> &
  Partial<Pick<Settings, 'databaseUrl' | 'databaseConnections' | 'databasePrepare' | 'databaseListenUrl' | 'redisUrl' | 's3'>>

/** Opens a store, and the hosting that belongs to it. */
export async function openStorage(
  settings: StoreSettings,
  open: (settings: StoreSettings) => Promise<ConversationStore> = openStore,
): Promise<{ readonly store: ConversationStore; readonly hosting: Hosting }> {
  const store = await open(settings)
  const hosting = hostingOf(store)
  if (!hosting) throw new TypeError('`open` must return a store of `openStore`')
  return { store, hosting }
}

/** Opens a store that may be read-only. If there is no database yet, the store is empty, and no folder is created. */
export function openStoreToRead(settings: StoreSettings): Promise<ConversationStore> {
  if (settings.databaseUrl !== undefined) return openStore(settings)
  const folder = statSync(settings.data, { throwIfNoEntry: false })
  const nothingStored = !folder || (folder.isDirectory() && !statSync(storePaths(settings).file, { throwIfNoEntry: false }))
  return openStore({ ...settings, ...(nothingStored && { store: 'memory' }), allowReadOnly: true })
}

/**
 * Opens the workspaces of all conversations. With the store `sqlite` their folders are in `data`, and with `memory` they are in memory.
 * `blobs` must be the blobs of the same store.
 */
export async function openWorkspaces(settings: StoreSettings, blobs: BlobStore): Promise<Workspaces> {
  const { data, store, workspace, workspaceRemote: remote } = settings
  if (store === 'memory') {
    if (workspace === 'git') throw new RangeError('workspace=git needs files on disk: set store=sqlite, or workspace=custom')
    return openMemoryWorkspaces(blobs)
  }
  const root = resolve(data, 'workspaces')
  const folders = {
    openFiles: (folder: string) => createDiskFiles({ folder: join(root, folder) }),
    removeFiles: (folder: string) => removeFolder(join(root, folder)),
    countFiles: (folder: string) => countFiles(join(root, folder)),
    async removeEmpty(folder: string) {
      await removeEmptyFolders(join(root, folder))
    },
    pathOf: (folder: string) => join(root, folder),
  }
  if (workspace === 'custom') return createCustomWorkspaces({ ...folders, blobs })
  const { createGitWorkspaces } = await import('../adapters/workspace/git/git.ts')
  return createGitWorkspaces({ ...folders, root, blobs, ...(remote !== undefined && { remote }) })
}
