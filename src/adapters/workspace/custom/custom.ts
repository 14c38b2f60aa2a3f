import type { BlobStore } from '../../../ports/blobs.ts'
import type { Files } from '../../../ports/files.ts'
import type { Workspaces } from '../../../ports/workspace.ts'
import { conversationFolder } from '../names.ts'
import { createRemovalFence } from '../removal-fence.ts'
import { createWorkspace, type FolderProvider, openFolders, receiptFunctions, turnFolder } from '../workspace.ts'
import { publishCustom } from './publish.ts'
import { createCustomVersions } from './versions.ts'

/**
 * Workspaces whose versions are in the journal. The publish block of each turn contains a manifest: the list of files that the turn
 * changed, with their hashes. A machine with the journal and the blobs can restore every version.
 */
export function createCustomWorkspaces(
  options: FolderProvider & { readonly blobs: Pick<BlobStore, 'get' | 'put' | 'putStream'> },
): Workspaces {
  const { blobs } = options
  const fence = createRemovalFence()
  return {
    implementation: 'custom',
    ...receiptFunctions(options),
    async open(owner, conversationId) {
      const home = conversationFolder(owner, conversationId)
      const folders = fence.guard(home, openFolders(options, home))
      const versions = createCustomVersions(blobs)
      return createWorkspace(folders, {
        implementation: 'custom',
        versions,
        startTurn: async () => {}, // the first write creates the folders
        afterCheckout: async () => {},
        publish: (turnId, request, history) => publishCustom(turnId, request, { versions, ...folders, blobs, history }),
        removeTurn: (turnId) => options.removeFiles(turnFolder(home, turnId)),
        describe: async () => ({}),
      })
    },
    remove(owner, conversationId) {
      const home = conversationFolder(owner, conversationId)
      return fence.remove(home, () => options.removeFiles(home))
    },
  }
}

/** Options of `createMemoryWorkspaces`. Without `openTemporary`, no program can run in these workspaces. */
export interface MemoryWorkspacesOptions extends Pick<FolderProvider, 'openTemporary'> {
  readonly blobs: BlobStore
  createFiles(): Files
}

/** Custom workspaces with their folders in memory, for tests and for agents whose files need not outlive the process. */
export function createMemoryWorkspaces({ blobs, createFiles, openTemporary }: MemoryWorkspacesOptions): Workspaces {
  const folders = new Map<string, Files>()
  return createCustomWorkspaces({
    blobs,
    ...(openTemporary && { openTemporary }),
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
