import type { AnnouncedWorkspace } from '../../core/announce/workspace-section.ts'
import { Failure } from '../../core/failure.ts'
import { isObject } from '../../core/json.ts'
import { redact } from '../../core/secrets.ts'
import type { Files } from '../../ports/files.ts'
import type {
  CheckoutRequest,
  PublishedVersion,
  PublishOutcome,
  PublishRequest,
  RecordedFiles,
  Workspace,
  Workspaces,
} from '../../ports/workspace.ts'
import { checkout, removeCheckoutRecord } from './checkout.ts'
import { exportVersions } from './custom/export.ts'
import { createTurnDescriber } from './describe.ts'
import { findVersion, hasVersion, isEmpty, type StoredFile, type VersionStore, versionUnavailable } from './files.ts'
import { createFolderView, type FolderView } from './folder-view.ts'
import { hydrate, hydrateCurrent, missingBytesMessage } from './hydrate.ts'
import { conversationFolder, ownerFolder } from './names.ts'
import { createOnDisk } from './on-disk.ts'
import { publishOutcomes } from './publish-record.ts'

/** Opens and removes folders below the root of all workspaces, on disk or in memory. */
export interface FolderProvider {
  /** Opens a folder. The same path always gives the same files. */
  openFiles(folder: string): Files
  /** Removes the folder and everything in it. */
  removeFiles(folder: string): Promise<void>
  /** Counts the files in the folder. */
  countFiles?(folder: string): Promise<number>
  /** Removes the folder if it contains no files, only empty folders. */
  removeEmpty?(folder: string): Promise<void>
  /**
   * The absolute path of a folder. Only providers of folders on disk have this function. Programs can run in a workspace only with this
   * function or `openTemporary`.
   */
  pathOf?(folder: string): string
  /**
   * Creates an empty folder on disk. Only providers of folders in memory have this function. A program that runs in the workspace works in
   * this folder.
   */
  openTemporary?(): Promise<TemporaryFolder>
}

/** A folder on disk that exists only for a short time. */
export interface TemporaryFolder {
  readonly path: string
  /** Opens a folder below this one. */
  openFiles(folder: string): Files
  remove(): Promise<void>
}

/** The folders of a workspace: `files` with the turns, `scratch` for temporary files of programs, `runtime` with the records of Daybook. */
export interface WorkspaceFolders {
  readonly files: Files
  readonly scratch: Files
  readonly runtime: Files
  readonly onDisk: Workspace['onDisk']
}

/** Opens the folders of a conversation's workspace. `home` is the folder of the conversation below the root of all workspaces. */
export function openFolders(provider: Omit<FolderProvider, 'removeFiles'>, home: string): WorkspaceFolders {
  const paths = { out: `${home}/out/workdir`, work: `${home}/work`, runtime: `${home}/out` }
  const files = provider.openFiles(paths.out)
  const scratch = provider.openFiles(paths.work)
  const runtime = provider.openFiles(paths.runtime)
  return { files, scratch, runtime, onDisk: createOnDisk(provider, paths, { files, scratch, runtime }) }
}

/** The functions of `Workspaces` for receipts of deletions, if the provider has folders on disk. */
export const receiptFunctions = ({ countFiles, removeEmpty }: FolderProvider): Pick<Workspaces, 'count' | 'removeFolders'> => ({
  ...(countFiles && { count: (owner, conversationId) => countFiles(conversationFolder(owner, conversationId)) }),
  ...(removeEmpty && { removeFolders: (owner) => removeEmpty(ownerFolder(owner)) }),
})

/** The folder of a turn below the root of all workspaces. */
export const turnFolder = (home: string, turnId: string): string => `${home}/out/workdir/${turnId}`

/** The functions that differ between kinds of workspaces. Each kind stores versions in its own way. */
export interface WorkspaceKind {
  readonly implementation: Workspaces['implementation']
  readonly versions: VersionStore
  /**
   * Makes the latest version in the journal the base of the next version. A kind that reads every version from the journal does not need
   * this function.
   */
  adoptVersion?(version: PublishedVersion | undefined, history: RecordedFiles): Promise<void>
  startTurn(turnId: string): Promise<void>
  /** Runs after a successful checkout. */
  afterCheckout(turnId: string, checkedOut: CheckedOutFiles): Promise<void>
  /** Runs after a program ran. A kind needs this function only if it caches data about the folder. */
  programRan?(): void
  publish: Workspace['publish']
  /** Removes the folder of a closed turn, after its files were removed, and everything that this kind stored for the turn while it ran. */
  removeTurn(turnId: string): Promise<void>
  /** Data for the announce that only this kind has. `last` is the outcome of the last publish in this process. */
  describe(turnId: string, view: FolderView, last: PublishOutcome | undefined): Promise<KindFacts>
}

/** What a checkout has put into the folder. */
export interface CheckedOutFiles {
  readonly mode: CheckoutRequest['mode']
  /** The files that the checkout took from a version, by path. */
  readonly storedFiles: ReadonlyMap<string, StoredFile>
}

/** The data for the announce that only some kinds of workspaces have. */
export type KindFacts = Pick<AnnouncedWorkspace, 'git' | 'lineage' | 'lastPublishedTurn'>

/** Makes a workspace of this kind. Checkout, pull and description are the same for all kinds. */
export function createWorkspace(folders: WorkspaceFolders, kind: WorkspaceKind): Workspace {
  const { runtime } = folders
  const { implementation, versions } = kind
  const view = createFolderView(folders.files)
  const { files } = view
  const describeTurn = createTurnDescriber(folders, view, implementation)
  let currentTurn: string | undefined
  let lastPublish: PublishOutcome | undefined

  async function publish(turnId: string, request: PublishRequest, history: RecordedFiles): Promise<PublishOutcome> {
    try {
      return await kind.publish(turnId, request, history)
    } catch (error) {
      if (!(error instanceof Failure)) throw error // other errors are bugs
      return publishOutcomes(implementation, turnId).failed(redact(error.message))
    }
  }

  async function removeTurn(turnId: string): Promise<void> {
    await removeCheckoutRecord(runtime, turnId)
    await view.removeTurn(turnId)
    await kind.removeTurn(turnId)
  }

  /** Whether a turn has neither files nor outputs. Its folder may still have copies of attachments, and a repository. */
  async function hasNoFiles(turnId: string): Promise<boolean> {
    return (await isEmpty(files, `${turnId}/files`)) && (await isEmpty(files, `${turnId}/outputs`))
  }

  return {
    ...folders,
    files,
    async adoptVersion(previous, history) {
      if (kind.adoptVersion) await kind.adoptVersion(await previous(), history)
    },
    exportVersions: (turnIds, history, put) => exportVersions(turnIds, versions, history, put),
    async startTurn(turnId) {
      await kind.startTurn(turnId)
      view.startTurn(turnId)
      currentTurn = turnId
    },
    async version(turnId, history) {
      const version = await versions.find(turnId, history)
      return version && [...version].map(([rel, { size }]) => ({ rel, size }))
    },
    async readVersion(turnId, rel, history) {
      const version = await findVersion(turnId, versions, history)
      if (!version) return undefined
      const file = version.get(rel)
      if (!file) return 'missing'
      const bytes = (await versions.read(new Map([[rel, file]]), history)).get(rel)
      if (!bytes) throw versionUnavailable(turnId, missingBytesMessage([rel]))
      return bytes
    },
    hydrate: (turnId, refs, history) => (turnId === currentTurn ? hydrateCurrent : hydrate)(turnId, refs, { versions, files, history }),
    async checkout(turnId, request, history) {
      const { outcome, storedFiles } = await checkout(turnId, request, { versions, files, runtime, history })
      if (outcome.ok) await kind.afterCheckout(turnId, { mode: request.mode, storedFiles })
      return outcome
    },
    async publish(turnId, request, history) {
      lastPublish = await publish(turnId, request, history)
      return lastPublish
    },
    async removeFinished(history) {
      const roots = await view.roots()
      // if there are too many files to list, `roots` may not contain the current turn
      const turns = new Set(currentTurn === undefined ? roots : [...roots, currentTurn])
      for (const turnId of turns) {
        const record = await history.manifest(turnId)
        if (hasVersion(record) || (!isObject(record) && (await hasNoFiles(turnId)))) await removeTurn(turnId)
      }
    },
    removeTurn,
    programRan() {
      view.forget()
      kind.programRan?.()
    },
    async describe(turnId) {
      const facts = await describeTurn(turnId)
      return { ...facts, ...(await kind.describe(turnId, view, lastPublish)) }
    },
  }
}
