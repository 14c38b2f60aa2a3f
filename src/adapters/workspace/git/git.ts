import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'
import type { Scope } from '../../../core/scope.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { RecordedFiles, Workspaces } from '../../../ports/workspace.ts'
import { hasManifest } from '../custom/export.ts'
import { createCustomVersions } from '../custom/versions.ts'
import { type StoredFile, type VersionStore, versionUnavailable } from '../files.ts'
import { conversationFolder, encodeName } from '../names.ts'
import { createRemovalFence } from '../removal-fence.ts'
import { createWorkspace, type FolderProvider, openFolders, receiptFunctions, turnFolder } from '../workspace.ts'
import { adoptVersion } from './adopt.ts'
import { commitInRecord, findBase, ifPresent, isPublished } from './base.ts'
import { createGitDescriber } from './describe.ts'
import { createOrigin, gitBlobHash, type Lineage, lineageRefs, type Origin, openLineage } from './lineage.ts'
import { publishGit } from './publish.ts'
import { fillIndex } from './turn-index.ts'
import { ensureTurnRepository, renewTurnRepository } from './turn-repository.ts'

/** Options of `createGitWorkspaces`. */
export interface GitWorkspacesOptions extends FolderProvider {
  /** The absolute path of the folder below which `openFiles` opens folders. */
  readonly root: string
  /** The path or URL of a bare repository that all machines push to and fetch from. */
  readonly remote?: string
  /** The blobs of the store. They contain the versions of forked and imported conversations. */
  readonly blobs: Pick<BlobStore, 'get'>
  /** The git program. Default: `git`. */
  readonly program?: string
}

/**
 * Workspaces whose versions are git commits:
 *
 *   <root>/<conversation>/lineage.git                   a bare repository with a branch, and a ref for the version of each turn
 *                        /index/<turn>                  a git index of the checked-out files, to find changes without reading every file
 *                        /out/workdir/<turn>/.git       a repository for programs of the agent. Daybook never runs git in it
 */
export function createGitWorkspaces(options: GitWorkspacesOptions): Workspaces {
  const fence = createRemovalFence()
  return {
    implementation: 'git',
    ...receiptFunctions(options),
    async open(owner, conversationId) {
      const home = conversationFolder(owner, conversationId)
      const folder = join(options.root, home)
      const folders = fence.guard(home, openFolders(options, home))
      const { lineage, origin } = openRepositories(options, owner, conversationId)
      const manifests = createCustomVersions(options.blobs)
      const turnRoot = (turnId: string) => join(options.root, turnFolder(home, turnId))
      const index = (turnId: string) => ({ turnRoot: turnRoot(turnId), file: join(folder, 'index', encodeName(turnId)) })
      let adopted: { readonly previous: string | undefined; readonly history: RecordedFiles } | undefined
      let latest: string | undefined // the commit of the latest version
      let programRan = true // whether a program may have changed the folder of the running turn
      const repository = (turnId: string) => ({ turnId, parent: latest, lineage, index: index(turnId), program: options.program })
      return createWorkspace(folders, {
        implementation: 'git',
        versions: createGitVersions(lineage, origin, manifests),
        async adoptVersion(version, history) {
          if (version) await adoptVersion(version, history, { lineage, origin, manifests })
          adopted = { previous: version?.turn_id, history }
        },
        async startTurn(turnId) {
          await lineage.prepare()
          if (origin) await origin.fetchBranch()
          const base = adopted ? await findBase(turnId, adopted.previous, { lineage, origin, history: adopted.history }) : undefined
          latest = base ? base.commit : await lineage.commitOf(lineage.refs.branch)
          // this first call also finishes replacements of folders that a dead process has begun
          const found = await folders.files.list(turnId, { limit: 1, dotEntries: true })
          programRan = found.files.length + found.skipped.length > 0
          await ensureTurnRepository(repository(turnId))
        },
        async afterCheckout(turnId, { mode, storedFiles }) {
          const inLineage = new Map([...storedFiles].filter(([, file]) => !isInManifest(file)))
          await fillIndex(lineage, index(turnId), { mode, storedFiles: inLineage })
          await renewTurnRepository(repository(turnId))
        },
        async publish(turnId, request, history) {
          const context = { lineage, origin, index: index(turnId), ...folders, history, mayHaveOtherEntries: programRan }
          const outcome = await publishGit(turnId, request, context)
          latest = commitInRecord(outcome.record) ?? latest
          return outcome
        },
        async removeTurn(turnId) {
          await rm(index(turnId).file, { force: true })
          await options.removeFiles(turnFolder(home, turnId))
        },
        programRan() {
          programRan = true
        },
        describe: createGitDescriber(lineage, index, () => latest),
      })
    },
    async remove(owner, conversationId) {
      const home = conversationFolder(owner, conversationId)
      await fence.remove(home, async () => {
        const { lineage, origin } = openRepositories(options, owner, conversationId)
        if (origin) await lineage.prepare()
        await origin?.removeRefs()
        await options.removeFiles(home)
      })
    },
  }
}

function openRepositories({ root, remote, program }: GitWorkspacesOptions, owner: Scope, conversationId: string) {
  const folder = join(root, conversationFolder(owner, conversationId), 'lineage.git')
  const lineage = openLineage({ folder, refs: lineageRefs(owner, conversationId), program })
  return { lineage, origin: remote === undefined ? undefined : createOrigin(lineage, remote) }
}

/**
 * The versions in git. Versions of another kind of workspace, such as those of an imported conversation, are manifests in the journal.
 */
function createGitVersions(lineage: Lineage, origin: Origin | undefined, manifests: VersionStore): VersionStore {
  return {
    async find(turnId, history) {
      const record = await history.manifest(turnId)
      // A process on this machine may have made a commit for the turn and died before the record was in the journal. Such a commit is not
      // the version of the turn.
      if (isObject(record) ? !isPublished(record) : await history.hasTurn(turnId)) return undefined
      const named = commitInRecord(record)
      const findLocal = async () => {
        const latest = await lineage.commitOf(lineage.refs.version(turnId))
        const commit = named ?? latest
        if (commit === undefined) return undefined
        return commit === latest ? lineage.filesOf(commit) : ifPresent(lineage.filesOf(commit))
      }
      const local = await findLocal()
      if (local) return local
      if (hasManifest(record)) return manifests.find(turnId, history)
      if (!origin || !isPublished(record)) return undefined
      await fetchVersion(lineage, origin, turnId)
      return findLocal()
    },
    async read(files, history) {
      const ofManifests = new Map([...files].filter(([, file]) => isInManifest(file)))
      // the files of a version are either all from a manifest or all from git
      if (ofManifests.size > 0) return manifests.read(ofManifests, history)
      const objects = await lineage.readObjects([...files.values()].map(({ hash }) => hash))
      return new Map([...files].flatMap(([rel, { hash }]) => (objects.has(hash) ? [[rel, objects.get(hash) as Uint8Array] as const] : [])))
    },
    isContent: (file, bytes) => (isInManifest(file) ? manifests.isContent(file, bytes) : file.hash === gitBlobHash(bytes)),
  }
}

const isInManifest = ({ keptBy }: StoredFile): boolean => keptBy !== undefined

/** Fetches the version of a turn if the shared repository has it. */
async function fetchVersion(lineage: Lineage, origin: Origin, turnId: string): Promise<void> {
  await lineage.prepare()
  try {
    await origin.fetchVersion(turnId)
  } catch (error) {
    if (error instanceof Failure) throw versionUnavailable(turnId, error.message, error)
    throw error
  }
}
