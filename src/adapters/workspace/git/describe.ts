import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { countScopes } from '../describe.ts'
import type { FolderView } from '../folder-view.ts'
import type { KindFacts, WorkspaceKind } from '../workspace.ts'
import { commitSubject, type Lineage } from './lineage.ts'
import { hasChanges, type TurnIndex } from './turn-index.ts'

type RepositoryStatus = 'clean' | 'dirty' | 'uninitialized'

/**
 * Makes the function that describes the repository of a turn for the announce. `latest` returns the commit of the latest version. The
 * description has no hashes and no refs. The function starts git only if there is a new version, or if a program may have changed files.
 */
export function createGitDescriber(
  lineage: Lineage,
  index: (turnId: string) => TurnIndex,
  latest: () => string | undefined,
): WorkspaceKind['describe'] {
  const readVersionFacts = createVersionReader(lineage)
  const readStatus = createStatusReader(lineage, index)

  return async (turnId, view, last) => {
    try {
      const own = last?.record.turn_id === turnId ? last : undefined
      return {
        git: {
          status: await readStatus(turnId, view),
          ...(own && { currentTurnPublish: own.record.reason ?? own.status }),
          ...(last?.status === 'failed' && { publishError: last.record.message ?? 'the last publish failed' }),
        },
        ...(await readVersionFacts(latest())),
      }
    } catch (error) {
      if (error instanceof Failure) return { git: { status: 'unavailable' } }
      throw error
    }
  }
}

/** Reads the data about the commit of a version, once for each commit, because commits do not change. */
function createVersionReader(lineage: Lineage): (commit: string | undefined) => Promise<KindFacts> {
  let known: { readonly commit: string; readonly facts: KindFacts } | undefined
  return async (commit) => {
    if (commit === undefined) return {} // in this case, the caller uses the record of the last publish
    if (known?.commit === commit) return known.facts
    const [hashes, subject] = await Promise.all([lineage.hashesOf(commit), commitSubject(lineage, commit)])
    const facts = { lineage: countScopes([...hashes.keys()]), lastPublishedTurn: subject.slice(subject.lastIndexOf(' ') + 1) }
    known = { commit, facts }
    return facts
  }
}

/** Reads whether a turn has changed files. After a write of this process the answer is yes, so git is not started. */
function createStatusReader(lineage: Lineage, index: (turnId: string) => TurnIndex) {
  let known:
    | { readonly turnId: string; readonly generation: number; readonly writes: number; readonly status: RepositoryStatus }
    | undefined
  return async (turnId: string, { generation, writes }: FolderView): Promise<RepositoryStatus> => {
    const turnIndex = index(turnId)
    if (!existsSync(join(turnIndex.turnRoot, '.git'))) return 'uninitialized'
    const isKnown = known?.turnId === turnId && known.generation === generation
    if (isKnown && known?.writes === writes) return known.status
    const status = isKnown || (await hasChanges(lineage, turnIndex)) ? 'dirty' : 'clean'
    known = { turnId, generation, writes, status }
    return status
  }
}
