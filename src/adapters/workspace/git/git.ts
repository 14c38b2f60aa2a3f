import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AnnouncedWorkspace as WorkspaceFacts } from '../../../core/announce/sections.ts'
import { Failure } from '../../../core/failure.ts'
import type { Scope } from '../../../core/scope.ts'
import type { PublishOutcome, Workspaces } from '../../../ports/workspace.ts'
import { type FolderProvider, openFolders } from '../custom/custom.ts'
import { countScopes } from '../describe.ts'
import type { VersionStore } from '../files.ts'
import { conversationFolder, encodeName, isExcluded } from '../names.ts'
import { createWorkspace } from '../workspace.ts'
import { createOrigin, gitBlobHash, type Lineage, lineageRefs, type Origin, openLineage } from './lineage.ts'
import { publishGit } from './publish.ts'
import { outputText } from './run.ts'
import { fillIndex, readTurnChanges, type TurnIndex } from './turn-index.ts'
import { makeTurnRepository } from './turn-repository.ts'

export interface GitWorkspacesOptions extends FolderProvider {
  /** Where `openFiles` has its folders on disk; absolute. */
  readonly root: string
  /** Another bare repository, by path or address, that all machines push to and fetch from. */
  readonly remote?: string
  /** The git to run. */
  readonly program?: string
}

/**
 * Workspaces with a history that git can read:
 *
 *   <root>/<conversation>/lineage.git                   bare; a branch, and a ref for the version of each turn
 *                        /index/<turn>                  what was checked out, so that changes are found without reading everything
 *                        /out/workdir/<turn>/.git       for the agent's own programs; nothing of ours depends on it
 */
export function createGitWorkspaces(options: GitWorkspacesOptions): Workspaces {
  return {
    implementation: 'git',
    async open(owner, conversation) {
      const home = conversationFolder(owner, conversation)
      const place = join(options.root, home)
      const folders = openFolders(options, home)
      const { lineage, origin } = openRepositories(options, owner, conversation)
      const turnRoot = (turnId: string) => join(place, 'out/workdir', turnId)
      const index = (turnId: string) => ({ turnRoot: turnRoot(turnId), file: join(place, 'index', encodeName(turnId)) })
      return createWorkspace(folders, {
        implementation: 'git',
        versions: createGitVersions(lineage, origin),
        async startTurn(turnId) {
          await lineage.prepare()
          if (origin) await origin.fetchBranch()
          await folders.files.list(turnId, { limit: 1 }) // a folder that was being replaced when a process died is whole from here on
          await makeTurnRepository(lineage, await lineage.commitOf(lineage.refs.branch), turnRoot(turnId), options.program)
        },
        afterCheckout: (turnId, { storedFiles: kept }) => fillIndex(lineage, index(turnId), kept),
        publish: (turnId) => publishGit(turnId, { lineage, origin, index: index(turnId), ...folders }),
        describe: (turnId, last) => describeGit(lineage, index(turnId), turnId, last),
      })
    },
    async remove(owner, conversation) {
      const { lineage, origin } = openRepositories(options, owner, conversation)
      if (origin) await lineage.prepare()
      await origin?.forget()
      await options.removeFiles(conversationFolder(owner, conversation))
    },
  }
}

function openRepositories({ root, remote, program }: GitWorkspacesOptions, owner: Scope, conversation: string) {
  const folder = join(root, conversationFolder(owner, conversation), 'lineage.git')
  const lineage = openLineage({ folder, refs: lineageRefs(owner, conversation), program })
  return { lineage, origin: remote === undefined ? undefined : createOrigin(lineage, remote) }
}

function createGitVersions(lineage: Lineage, origin: Origin | undefined): VersionStore {
  return {
    async find(turnId) {
      const ref = lineage.refs.version(turnId)
      const known = await lineage.commitOf(ref)
      const commit = known ?? (origin && (await tryFetchVersion(lineage, origin, turnId)) ? await lineage.commitOf(ref) : undefined)
      return commit === undefined ? undefined : lineage.filesOf(commit)
    },
    async read(files) {
      const objects = await lineage.readObjects([...files.values()].map(({ hash }) => hash))
      return new Map([...files].flatMap(([rel, { hash }]) => (objects.has(hash) ? [[rel, objects.get(hash) as Uint8Array] as const] : [])))
    },
    hashOf: gitBlobHash,
  }
}

/** An origin that can not be reached has nothing for us: the journal may. */
async function tryFetchVersion(lineage: Lineage, origin: Origin, turnId: string): Promise<boolean> {
  await lineage.prepare()
  try {
    return await origin.fetchVersion(turnId)
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

/** What an announcement says of the repository: no hashes, no refs. */
export async function describeGit(
  lineage: Lineage,
  index: TurnIndex,
  turnId: string,
  last: PublishOutcome | undefined,
): Promise<Pick<WorkspaceFacts, 'git'>> {
  try {
    const head = await lineage.commitOf(lineage.refs.branch)
    const [files, subject] = head === undefined ? [] : await Promise.all([lineage.filesOf(head), commitSubject(lineage, head)])
    const own = last?.record.turn_id === turnId ? last : undefined
    return {
      git: {
        status: await repositoryStatus(lineage, index),
        lineage: countScopes([...(files?.keys() ?? [])]),
        ...(own && { currentTurnPublish: own.record.reason ?? own.status }),
        ...(subject !== undefined && { lastPublishedTurn: subject.slice(subject.lastIndexOf(' ') + 1) }),
        ...(last?.status === 'failed' && { publishError: last.record.message ?? 'the last publish failed' }),
      },
    }
  } catch (error) {
    if (error instanceof Failure) return { git: { status: 'unavailable' } }
    throw error
  }
}

const commitSubject = async (lineage: Lineage, commit: string) => outputText(await lineage.git(['log', '-1', '--format=%s', commit]))

async function repositoryStatus(lineage: Lineage, index: TurnIndex): Promise<'clean' | 'dirty' | 'uninitialized'> {
  if (!existsSync(join(index.turnRoot, '.git'))) return 'uninitialized'
  const { changed } = await readTurnChanges(lineage, index)
  return [...changed].some((rel) => !isExcluded(rel)) ? 'dirty' : 'clean'
}
