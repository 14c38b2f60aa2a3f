import { Failure } from '../../../core/failure.ts'
import type { Files } from '../../../ports/files.ts'
import type { PublishOutcome } from '../../../ports/workspace.ts'
import { readCheckoutRecord } from '../checkout-record.ts'
import type { Origin } from '../git-origin.ts'
import { importRef, snapshotMessage, writeSnapshot } from '../git-snapshot.ts'
import { nextLineage } from '../lineage.ts'
import { publishOutcomes } from '../publish-record.ts'
import { filesFolder, isEmpty } from '../turn-files.ts'
import type { Lineage } from './lineage.ts'
import { outputText } from './run.ts'
import { readTurnChanges, readTurnFiles, type TurnIndex } from './turn-index.ts'

export interface GitPublishContext {
  readonly lineage: Lineage
  readonly origin: Origin | undefined
  readonly index: TurnIndex
  readonly files: Files
  readonly runtime: Files
}

const MAX_RETRIES = 3

/**
 * The lineage with what the turn made of its scopes, as a commit; branch and version move together, and the branch only from where it
 * was seen. Somebody else was faster: the same files on top of what is there now.
 */
export async function publishGit(turnId: string, parts: GitPublishContext): Promise<PublishOutcome> {
  const { lineage, index, files, runtime } = parts
  const record = publishOutcomes('git', turnId)
  await lineage.prepare()
  let seen = readHead(lineage) // meanwhile
  seen.catch(() => {})
  const [checkedOut, empty, state] = await Promise.all([
    readCheckoutRecord(runtime, turnId),
    isEmpty(files, filesFolder(turnId)),
    readTurnChanges(lineage, index),
  ])
  if (!checkedOut && empty) return record.skipped('workspace_not_materialized')
  const { made: present, fresh } = await readTurnFiles(state, files, turnId)
  for (let attempt = 0; ; attempt++, seen = readHead(lineage)) {
    const { head, before } = await seen
    const next = nextLineage(before, present, checkedOut)
    if (head === undefined && next.size === 0) return record.skipped('empty_workspace')
    const changes = changesBetween(before, next)
    const made = changes.size === 0 && head !== undefined ? head : createSnapshot(lineage, turnId, { parent: head, changes, fresh })
    if (await moveRefs(parts, turnId, { commit: Promise.resolve(made), head })) {
      const commit = await made
      lineage.remember(commit, next)
      const facts = { commit_sha: commit, lineage_ref: lineage.refs.branch, version_ref: lineage.refs.version(turnId) }
      const own = commit !== head || (await isCommitOfTurn(lineage, commit, turnId)) // again, after a crash: it is there already
      return own ? record.committed(facts) : record.unchanged(facts)
    }
    if (attempt === MAX_RETRIES) throw new Failure('workspace.failed', 'other turns of this conversation kept publishing at the same time')
  }
}

async function readHead(lineage: Lineage) {
  const head = await lineage.commitOf(lineage.refs.branch)
  return { head, before: head === undefined ? new Map<string, string>() : await lineage.hashesOf(head) }
}

function changesBetween(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ReadonlyMap<string, string | undefined> {
  const put = [...after].filter(([rel, hash]) => before.get(rel) !== hash)
  const removed = [...before.keys()].filter((rel) => !after.has(rel)).map((rel) => [rel, undefined] as const)
  return new Map<string, string | undefined>([...put, ...removed])
}

function createSnapshot(
  lineage: Lineage,
  turnId: string,
  rest: { parent: string | undefined; changes: ReadonlyMap<string, string | undefined>; fresh: ReadonlyMap<string, Uint8Array> },
): Promise<string> {
  return writeSnapshot(lineage, { turnId, now: Date.now(), ...rest })
}

async function isCommitOfTurn(lineage: Lineage, commit: string, turnId: string): Promise<boolean> {
  return outputText(await lineage.git(['log', '-1', '--format=%s', commit])) === snapshotMessage(turnId)
}

interface RefUpdate {
  /** Perhaps still being made: whoever moves the refs is ready when it is. */
  readonly commit: Promise<string>
  readonly head: string | undefined
}

/** At the origin first, where there is one: what others can see is what counts. False when the branch is no longer where it was seen. */
async function moveRefs({ lineage, origin }: GitPublishContext, turnId: string, { commit, head }: RefUpdate): Promise<boolean> {
  const { refs } = lineage
  if (origin && !(await origin.push(turnId, await commit, head))) return false
  const input = commit.then((made) =>
    [
      'start',
      `update ${refs.branch} ${made} ${head ?? '0'.repeat(40)}`,
      `update ${refs.version(turnId)} ${made}`,
      `delete ${importRef(turnId)}`,
      'prepare',
      'commit\n',
    ].join('\n'),
  )
  try {
    await lineage.git(['update-ref', '--stdin'], { input })
    return true
  } catch (error) {
    await commit // when there is none, that is why
    if ((await lineage.commitOf(refs.branch)) === head) throw error // nobody was faster: it is something else
    return false
  }
}
