import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Workspace as WorkspaceFacts } from '../../core/announce/workspace.ts'
import { Failure } from '../../core/failure.ts'
import type { Published } from '../../ports/workspace.ts'
import { scopesOf } from './describe.ts'
import { readState, type TurnIndex } from './git-index.ts'
import type { Lineage } from './git-lineage.ts'
import { textOf } from './git-run.ts'
import { isExcluded } from './names.ts'

/** What an announcement says of the repository: no hashes, no refs. */
export async function describeGit(
  lineage: Lineage,
  index: TurnIndex,
  turnId: string,
  last: Published | undefined,
): Promise<Pick<WorkspaceFacts, 'git'>> {
  try {
    const head = await lineage.commitOf(lineage.refs.branch)
    const [files, subject] = head === undefined ? [] : await Promise.all([lineage.filesOf(head), subjectOf(lineage, head)])
    const own = last?.record.turn_id === turnId ? last : undefined
    return {
      git: {
        status: await statusOf(lineage, index),
        lineage: scopesOf([...(files?.keys() ?? [])]),
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

const subjectOf = async (lineage: Lineage, commit: string) => textOf(await lineage.git(['log', '-1', '--format=%s', commit]))

async function statusOf(lineage: Lineage, index: TurnIndex): Promise<'clean' | 'dirty' | 'uninitialized'> {
  if (!existsSync(join(index.turnRoot, '.git'))) return 'uninitialized'
  const { changed } = await readState(lineage, index)
  return [...changed].some((rel) => !isExcluded(rel)) ? 'dirty' : 'clean'
}
