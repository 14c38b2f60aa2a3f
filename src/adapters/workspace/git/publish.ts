import { mkdir } from 'node:fs/promises'
import { Failure } from '../../../core/failure.ts'
import type { Files } from '../../../ports/files.ts'
import type { PublishOutcome, PublishRequest, RecordedFiles } from '../../../ports/workspace.ts'
import { readCheckoutRecord } from '../checkout.ts'
import { filesFolder, isEmpty, listSkipped } from '../files.ts'
import { findKeptFiles } from '../kept-files.ts'
import { addUnread, findHeldFiles, leftOutField, nextLineage, nothingHeld, publishOutcomes, recordedScopes } from '../publish-record.ts'
import { type CommittedFiles, findBase, readHead, snapshotMessage } from './base.ts'
import { commitSubject, type Lineage, type Origin } from './lineage.ts'
import { author, outputText } from './run.ts'
import { readTurnChanges, readTurnFiles, type TurnIndex } from './turn-index.ts'

interface GitPublishContext {
  readonly lineage: Lineage
  readonly origin: Origin | undefined
  readonly index: TurnIndex
  readonly files: Files
  readonly runtime: Files
  readonly history: RecordedFiles
  /**
   * Whether the folder of the turn may have entries that are not files, such as pipes. git does not list such entries. Only programs make
   * them.
   */
  readonly mayHaveOtherEntries: boolean
}

const MAX_RETRIES = 3

/**
 * Publishes the files of a turn as a commit on the branch of the conversation. Unchanged files of the previous version are taken from the
 * commit that the journal names. The branch and the ref of the turn's version are set in one step, if the branch has not moved since it was
 * read.
 */
export async function publishGit(turnId: string, { previous, at }: PublishRequest, context: GitPublishContext): Promise<PublishOutcome> {
  const { lineage, index, files, runtime, history, mayHaveOtherEntries } = context
  const outcomes = publishOutcomes('git', turnId)
  await lineage.prepare()
  await makeTurnRoot(index)
  const finding = findBase(turnId, previous, context) // awaited below, so that it runs while the folder of the turn is read
  finding.catch(() => {}) // a failure is thrown by `await finding` below
  const [checkedOut, hasNoFiles, listed, changes] = await Promise.all([
    readCheckoutRecord(runtime, turnId),
    isEmpty(files, filesFolder(turnId)),
    mayHaveOtherEntries ? listSkipped(files, filesFolder(turnId)) : [],
    readTurnChanges(lineage, index),
  ])
  const kept = await findKeptFiles(turnId, history, checkedOut)
  const held = findHeldFiles(checkedOut, kept.made)
  const { hashes, contents, excluded, refused } = await readTurnFiles(changes, files, turnId, kept)
  const skipped = addUnread(listed, refused)
  if (!held && hasNoFiles && skipped.length === 0) return outcomes.skipped('workspace_not_materialized')
  const leftOut = leftOutField({ ignored: [...changes.ignored, ...excluded].filter((rel) => !hashes.has(rel)), skipped }, hashes.keys())
  const base = await finding
  const version = nextLineage(base.hashes, hashes, held ?? nothingHeld, skipped)
  if (base.commit === undefined && version.size === 0) return outcomes.skipped('empty_workspace', leftOut)
  const commit = await commitVersion(context, turnId, { version, base, contents, now: Date.parse(at) })
  const fields = {
    scopes: recordedScopes(version),
    ...leftOut,
    commit_sha: commit,
    lineage_ref: lineage.refs.branch,
    version_ref: lineage.refs.version(turnId),
    ...(base.isLost && { parent_unavailable: previous }),
  }
  return commit === base.commit ? outcomes.unchanged(fields) : outcomes.committed(fields)
}

/** Makes the folder of the turn, in which git looks for changes. A program may have removed it. */
async function makeTurnRoot({ turnRoot }: TurnIndex): Promise<void> {
  try {
    await mkdir(turnRoot, { recursive: true })
  } catch (error) {
    throw new Failure('workspace.failed', 'the folder of this turn can not be reached', { cause: error })
  }
}

interface NewVersion {
  /** The hashes of the files of the new version, by path. */
  readonly version: ReadonlyMap<string, string>
  /** The previous version. If the new version has the same files, no commit is made. */
  readonly base: CommittedFiles
  /** The contents of files that the repository may not have yet, by hash. */
  readonly contents: ReadonlyMap<string, Uint8Array>
  /** The time of the version, in milliseconds. */
  readonly now: number
}

/**
 * Commits a version on top of the branch and sets its ref. Returns its commit. If another process moves the branch meanwhile, the commit is
 * made again. The files of the version stay the same, because the commit of the other process is not in the journal.
 */
export async function commitVersion(
  { lineage, origin }: Pick<GitPublishContext, 'lineage' | 'origin'>,
  turnId: string,
  { version, base, contents, now }: NewVersion,
): Promise<string> {
  const ownChanges = changesBetween(base.hashes, version)
  const isUnchanged = base.commit !== undefined && ownChanges.size === 0
  for (let attempt = 0; attempt <= MAX_RETRIES; attempt++) {
    const head = await readHead(lineage)
    const changes = head.commit === base.commit ? ownChanges : changesBetween(head.hashes, version)
    const known = isUnchanged ? base.commit : await ownCommit(lineage, turnId, head.commit, changes)
    const pending = known === undefined ? writeSnapshot(lineage, { turnId, parent: head.commit, changes, contents, now }) : undefined
    const commit = pending ?? Promise.resolve(known as string)
    const branch = pending ?? Promise.resolve(head.commit ?? (known as string)) // an existing commit is not added to the branch again
    if (!(await moveRefs({ lineage, origin }, turnId, { commit, branch, from: head.commit }))) continue
    lineage.remember(await commit, version)
    return commit
  }
  throw new Failure('workspace.failed', 'other turns of this conversation kept publishing at the same time: try again')
}

/**
 * The last commit of the branch, if this turn has made it and it has the same files as the version. In this case, the turn was already
 * published.
 */
async function ownCommit(lineage: Lineage, turnId: string, commit: string | undefined, changes: ReadonlyMap<string, unknown>) {
  if (commit === undefined || changes.size > 0) return undefined
  return (await commitSubject(lineage, commit)) === snapshotMessage(turnId) ? commit : undefined
}

/** The changed files: the new hash by path, or undefined for a removed file. */
function changesBetween(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ReadonlyMap<string, string | undefined> {
  const changes = new Map<string, string | undefined>()
  for (const [rel, hash] of after) if (before.get(rel) !== hash) changes.set(rel, hash)
  for (const rel of before.keys()) if (!after.has(rel)) changes.set(rel, undefined)
  return changes
}

interface RefUpdate {
  /** The commit of the version. It is a promise, so that git can be started before the hash of a new commit is known. */
  readonly commit: Promise<string>
  /** The new last commit of the branch. */
  readonly branch: Promise<string>
  /** The last commit of the branch when it was read. Undefined when there was no branch. */
  readonly from: string | undefined
}

/**
 * Sets the branch and the version of the turn. The shared repository is updated first. Returns false when the branch has moved since it was
 * read.
 */
async function moveRefs(
  { lineage, origin }: Pick<GitPublishContext, 'lineage' | 'origin'>,
  turnId: string,
  { commit, branch, from }: RefUpdate,
): Promise<boolean> {
  const { refs } = lineage
  if (origin && !(await origin.push(turnId, { commit: await commit, branch: await branch, from }))) return false
  const input = Promise.all([commit, branch]).then(([hash, head]) =>
    [
      'start',
      `update ${refs.branch} ${head} ${from ?? '0'.repeat(40)}`,
      `update ${refs.version(turnId)} ${hash}`,
      `delete ${importRef(turnId)}`,
      'prepare',
      'commit\n',
    ].join('\n'),
  )
  try {
    await lineage.git(['update-ref', '--stdin'], { input })
    return true
  } catch (error) {
    await commit // rejects if the commit could not be made
    if ((await lineage.commitOf(refs.branch)) === from) throw error // the branch has not moved, so the failure has another cause
    return false
  }
}

interface Snapshot {
  readonly turnId: string
  readonly parent: string | undefined
  /** The new hashes by path below `files/`. Undefined removes the file. */
  readonly changes: ReadonlyMap<string, string | undefined>
  /** The contents of files that the repository may not have yet, by hash. */
  readonly contents: ReadonlyMap<string, Uint8Array>
  readonly now: number
}

/** A temporary ref to a new commit. Without a ref, git could delete the commit before the branch refers to it. */
const importRef = (turnId: string): string => `refs/daybook-import/${turnId}`

/** Makes a commit with these changes and returns its hash. `fast-import` needs only one process for any number of files, and no index. */
async function writeSnapshot(lineage: Lineage, snapshot: Snapshot): Promise<string> {
  return outputText(
    await lineage.git(['fast-import', '--quiet', '--force', '--done', '--date-format=raw'], { input: importStream(snapshot) }),
  )
}

function importStream({ turnId, parent, changes, contents, now }: Snapshot): Buffer {
  const message = snapshotMessage(turnId)
  const seconds = Math.max(0, Math.floor(now / 1000)) || 0 // the time of an imported version may be invalid
  const signature = `${author.name} <${author.email}> ${seconds} +0000`
  const chunks: (string | Uint8Array)[] = [
    `reset ${importRef(turnId)}\n`,
    ...(parent === undefined ? [] : [`from ${parent}\n`]),
    '\n',
    `commit ${importRef(turnId)}\nmark :1\nauthor ${signature}\ncommitter ${signature}\n`,
    `data ${Buffer.byteLength(message)}\n${message}\n`,
  ]
  const removed = [...changes].filter(([, hash]) => hash === undefined)
  const put = [...changes].filter((change): change is [string, string] => change[1] !== undefined)
  // removals come first, because a new file may have the path of a removed folder
  for (const [rel] of removed) chunks.push(`D ${quotePath(rel)}\n`)
  for (const [rel, hash] of put) {
    const bytes = contents.get(hash)
    if (bytes === undefined) chunks.push(`M 100644 ${hash} ${quotePath(rel)}\n`)
    else chunks.push(`M 100644 inline ${quotePath(rel)}\ndata ${bytes.length}\n`, bytes, '\n')
  }
  chunks.push('\nget-mark :1\ndone\n')
  return Buffer.concat(chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)))
}

const quotePath = (rel: string) => `"files/${rel.replace(/["\\]/g, (character) => `\\${character}`)}"`
