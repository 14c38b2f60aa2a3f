import type { BlobStore } from '../../../ports/blobs.ts'
import type { Files } from '../../../ports/files.ts'
import type { Workspaces } from '../../../ports/workspace.ts'
import { conversationFolder } from '../names.ts'
import { createWorkspace, type FolderProvider, openFolders, turnFolder } from '../workspace.ts'
import { publishCustom } from './publish.ts'
import { createCustomVersions } from './versions.ts'

/**
 * Workspaces that keep versions in the journal. The publish block of each turn has a manifest of the files that the turn changed. Any
 * machine with the journal and the blobs can restore every version.
 */
export function createCustomWorkspaces(options: FolderProvider & { readonly blobs: Pick<BlobStore, 'get' | 'put'> }): Workspaces {
  const { blobs } = options
  return {
    implementation: 'custom',
    async open(owner, conversationId) {
      const home = conversationFolder(owner, conversationId)
      const folders = openFolders(options, home)
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
    remove: (owner, conversationId) => options.removeFiles(conversationFolder(owner, conversationId)),
  }
}

/** Custom workspaces with their folders in memory. They are for tests and for agents that may forget everything on exit. */
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
