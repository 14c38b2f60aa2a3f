import { Failure } from '../../core/failure.ts'
import { stripAbsolutePaths } from '../../core/secrets.ts'
import type { Files } from '../../ports/files.ts'
import type { PublishOutcome, PublishRequest, RecordedFiles, Workspace, Workspaces } from '../../ports/workspace.ts'
import { type CheckoutResult, checkout } from './checkout.ts'
import { describeTurn } from './describe.ts'
import type { VersionStore } from './files.ts'
import { hydrate, hydrateCurrent } from './hydrate.ts'
import { publishOutcomes } from './publish-record.ts'

/** The three folders of a workspace. */
export interface WorkspaceFolders {
  readonly files: Files
  readonly scratch: Files
  readonly runtime: Files
}

/** What one kind of workspace does in its own way. */
export interface WorkspaceKind {
  readonly implementation: Workspaces['implementation']
  readonly versions: VersionStore
  startTurn(turnId: string): Promise<void>
  afterCheckout(turnId: string, laid: CheckoutResult): Promise<void>
  publish: Workspace['publish']
  /** Besides what every workspace says of itself; `last` is what came of the last publish, if it was here. */
  describe(turnId: string, last: PublishOutcome | undefined): Promise<Pick<Awaited<ReturnType<Workspace['describe']>>, 'git'>>
}

/** What all workspaces have in common: a kind only says where versions are kept. */
export function createWorkspace(folders: WorkspaceFolders, kind: WorkspaceKind): Workspace {
  const { files, runtime } = folders
  const { implementation, versions } = kind
  let begun: string | undefined
  let last: PublishOutcome | undefined

  async function publish(turnId: string, request: PublishRequest, history: RecordedFiles): Promise<PublishOutcome> {
    try {
      return await kind.publish(turnId, request, history)
    } catch (error) {
      if (!(error instanceof Failure)) throw error // a bug: nobody's workspace is to blame
      return publishOutcomes(implementation, turnId).failed(stripAbsolutePaths(error.message))
    }
  }

  return {
    ...folders,
    async startTurn(turnId) {
      await kind.startTurn(turnId)
      begun = turnId
    },
    async version(turnId, history) {
      const version = await versions.find(turnId, history)
      return version && [...version].map(([rel, { size }]) => ({ rel, size }))
    },
    hydrate: (turnId, refs, history) => (turnId === begun ? hydrateCurrent : hydrate)(turnId, refs, { versions, files, history }),
    async checkout(turnId, request, history) {
      const laid = await checkout(turnId, request, { versions, files, runtime, history })
      if (laid.outcome.ok) await kind.afterCheckout(turnId, laid)
      return laid.outcome
    },
    async publish(turnId, request, history) {
      last = await publish(turnId, request, history)
      return last
    },
    async describe(turnId) {
      const facts = await describeTurn(folders, implementation, turnId)
      return { ...facts, ...(await kind.describe(turnId, last)) }
    },
  }
}
