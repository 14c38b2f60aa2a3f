import { Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'
import type { RecordedFiles } from '../../../ports/workspace.ts'
import type { Lineage, Origin } from './lineage.ts'
import { outputText } from './run.ts'

/** A commit, and the hashes of its files by path below `files/`. `commit` is undefined when there is no commit. */
export interface CommittedFiles {
  readonly commit: string | undefined
  readonly hashes: ReadonlyMap<string, string>
}

/** The version on which the next version is based. */
interface Base extends CommittedFiles {
  /** True when the journal has a previous version, but its commit can not be read. */
  readonly isLost: boolean
}

interface BaseContext {
  readonly lineage: Lineage
  readonly origin: Origin | undefined
  readonly history: RecordedFiles
}

const nothing: CommittedFiles = { commit: undefined, hashes: new Map() }

/**
 * Finds the version on which the version of a turn is based: the commit that the latest publish record in the journal names. This need not
 * be the last commit of the branch. A process may have published a version and died before its record was in the journal. If the journal
 * has no publish record at all, the base is the newest commit of a turn that is not in the journal. A retention policy may have removed the
 * record together with all other entries of that turn.
 */
export async function findBase(turnId: string, previous: string | undefined, context: BaseContext): Promise<Base> {
  if (previous === undefined) return { ...(await findUnrecorded(turnId, context)), isLost: false }
  const recorded = await findRecorded(previous, context)
  return recorded ? { ...recorded, isLost: false } : { ...nothing, isLost: true }
}

/** The last commit of the branch. */
export async function readHead(lineage: Lineage): Promise<CommittedFiles> {
  const commit = await lineage.commitOf(lineage.refs.branch)
  return commit === undefined ? nothing : { commit, hashes: await lineage.hashesOf(commit) }
}

export const snapshotMessage = (turnId: string): string => `React workspace snapshot ${turnId}`

/** The commit that the publish record of a turn names. Undefined when the record names no commit. */
export function commitInRecord(record: unknown): string | undefined {
  const commit = isPublished(record) ? record.commit_sha : undefined
  return typeof commit === 'string' && /^[0-9a-f]{40}$/.test(commit) ? commit : undefined
}

export const isPublished = (record: unknown): record is Readonly<Record<string, unknown>> =>
  isObject(record) && record.status === 'published'

/**
 * The version of a turn. Its commit is taken from the publish record, or from the ref of the turn if there is no record. Undefined when the
 * commit can not be read.
 */
async function findRecorded(turnId: string, { lineage, origin, history }: BaseContext): Promise<CommittedFiles | undefined> {
  const named = commitInRecord(await history.manifest(turnId))
  const find = async () => {
    const commit = named ?? (await lineage.commitOf(lineage.refs.version(turnId)))
    const hashes = commit === undefined ? undefined : await ifPresent(lineage.hashesOf(commit))
    return hashes && { commit, hashes }
  }
  const found = await find()
  if (found || !origin || named === undefined) return found
  await origin.fetchVersion(turnId)
  return find()
}

/** The result of `reading`. Undefined when git fails because the repository does not have the commit. */
export async function ifPresent<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

/**
 * The newest usable commit of the branch. Two kinds of commits are not usable: commits of this turn, and commits of turns that are in the
 * journal but whose publish record does not name the commit.
 */
async function findUnrecorded(turnId: string, { lineage, history }: BaseContext): Promise<CommittedFiles> {
  const head = await lineage.commitOf(lineage.refs.branch)
  if (head === undefined) return nothing
  const log = outputText(await lineage.git(['log', '--first-parent', '--format=%H %s', head])).split('\n')
  for (const line of log) {
    const [commit, subject] = [line.slice(0, 40), line.slice(41)]
    if (await isStray(commit, subject, turnId, history)) continue
    return { commit, hashes: await lineage.hashesOf(commit) }
  }
  return nothing
}

async function isStray(commit: string, subject: string, turnId: string, history: RecordedFiles): Promise<boolean> {
  const madeBy = subject.slice(snapshotMessage('').length)
  if (subject !== snapshotMessage(madeBy)) return false // another program has pushed this commit
  if (madeBy === turnId) return true
  const record = await history.manifest(madeBy)
  const isNamed = isPublished(record) && (record.commit_sha === undefined || record.commit_sha === commit)
  return !isNamed && (await history.hasTurn(madeBy))
}
