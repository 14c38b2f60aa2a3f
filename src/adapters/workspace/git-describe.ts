import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AnnouncedWorkspace as WorkspaceFacts } from '../../core/announce/workspace.ts'
import { Failure } from '../../core/failure.ts'
import type { PublishOutcome } from '../../ports/workspace.ts'
import { countScopes } from './describe.ts'
import type { Lineage } from './git/lineage.ts'
import { outputText } from './git/run.ts'
import { readTurnChanges, type TurnIndex } from './git/turn-index.ts'
import { isExcluded } from './names.ts'

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
