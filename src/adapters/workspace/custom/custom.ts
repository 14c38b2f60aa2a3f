import type { BlobStore } from '../../../ports/blobs.ts'
import type { Files } from '../../../ports/files.ts'
import type { Workspaces } from '../../../ports/workspace.ts'
import { conversationFolder } from '../names.ts'
import { createWorkspace } from '../workspace.ts'
import { publishCustom } from './publish.ts'
import { createCustomVersions } from './versions.ts'

export interface FolderProvider {
  /** Files below a folder of the root of all workspaces; on disk or in memory. The same for the same name. */
  openFiles(folder: string): Files
  /** That folder and everything in it. */
  removeFiles(folder: string): Promise<void>
}

/** The three folders of a conversation, below the root of all workspaces. */
export function openFolders({ openFiles }: Pick<FolderProvider, 'openFiles'>, home: string) {
  return { files: openFiles(`${home}/out/workdir`), scratch: openFiles(`${home}/work`), runtime: openFiles(`${home}/out`) }
}

/**
 * Workspaces that need nothing but the journal: each turn's publish block holds a manifest of what the turn changed, and bytes are found
 * by content. A machine that never saw the conversation can bring back every version of it.
 */
export function createCustomWorkspaces(options: FolderProvider & { readonly blobs: Pick<BlobStore, 'get' | 'put'> }): Workspaces {
  const { blobs } = options
  return {
    implementation: 'custom',
    async open(owner, conversation) {
      const folders = openFolders(options, conversationFolder(owner, conversation))
      const versions = createCustomVersions(blobs)
      return createWorkspace(folders, {
        implementation: 'custom',
        versions,
        startTurn: async () => {}, // nothing is made before something is written
        afterCheckout: async () => {},
        publish: (turnId, request, history) => publishCustom(turnId, request, { versions, ...folders, blobs, history }),
        describe: async () => ({}),
      })
    },
    remove: (owner, conversation) => options.removeFiles(conversationFolder(owner, conversation)),
  }
}

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
