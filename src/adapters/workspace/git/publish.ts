import { mkdir } from 'node:fs/promises'
import { Failure } from '../../../core/failure.ts'
import { isObject } from '../../../core/json.ts'
import type { Files } from '../../../ports/files.ts'
import type { PublishOutcome, PublishRequest, RecordedFiles } from '../../../ports/workspace.ts'
import { readCheckoutRecord } from '../checkout.ts'
import { hasManifest } from '../custom/export.ts'
import { filesFolder, isEmpty } from '../files.ts'
import { findKeptFiles } from '../kept-files.ts'
import { findHeldFiles, leftOutField, nextLineage, nothingHeld, publishOutcomes, recordedScopes } from '../publish-record.ts'
import { commitSubject, type Lineage, type Origin } from './lineage.ts'
import { author, outputText } from './run.ts'
import { listIgnored, readTurnChanges, readTurnFiles, type TurnIndex } from './turn-index.ts'

interface GitPublishContext {
  readonly lineage: Lineage
  readonly origin: Origin | undefined
  readonly index: TurnIndex
  readonly files: Files
  readonly runtime: Files
  readonly history: RecordedFiles
}

const MAX_RETRIES = 3

/**
 * Publishes the files of a turn as a commit on the branch of the conversation. The branch and the ref of the turn's version are set in one
 * step, if the branch has not moved since it was read. If another turn has moved the branch, the commit is made again on
 * top of the commit of that turn.
 */
export async function publishGit(turnId: string, { previous, at }: PublishRequest, context: GitPublishContext): Promise<PublishOutcome> {
  const { lineage, index, files, runtime, history } = context
  const outcomes = publishOutcomes('git', turnId)
  await lineage.prepare()
  await makeTurnRoot(index)
  const base = await recordedCommit(previous, context)
  const head = readHead(context, turnId, base) // runs while the folder of the turn is read
  head.catch(() => {}) // a failure is thrown by `await head` below
  const [checkedOut, hasNoFiles, changes, ignored] = await Promise.all([
    readCheckoutRecord(runtime, turnId),
    isEmpty(files, filesFolder(turnId)),
    readTurnChanges(lineage, index),
    listIgnored(lineage, index),
  ])
  const kept = await findKeptFiles(turnId, history, checkedOut)
  const held = findHeldFiles(checkedOut, kept.made)
  if (!held && hasNoFiles) return outcomes.skipped('workspace_not_materialized')
  const { hashes, contents, refused } = await readTurnFiles(changes, files, turnId, kept)
  const leftOut = [...ignored.filter((rel) => !hashes.has(rel)), ...refused]
  const plan = ({ commit, before }: Head) => {
    const next = nextLineage(before, hashes, held ?? nothingHeld)
    return commit === undefined && next.size === 0 ? undefined : next
  }
  const committed = await commitVersion(context, turnId, { plan, contents, head, base, now: Date.parse(at) })
  if (!committed) return outcomes.skipped('empty_workspace')
  const { commit, parent, version } = committed
  const fields = {
    scopes: recordedScopes(version),
    ...leftOutField(leftOut, hashes.keys()),
    commit_sha: commit,
    lineage_ref: lineage.refs.branch,
    version_ref: lineage.refs.version(turnId),
    ...(previous !== undefined && (await isParentLost(previous, parent, context)) && { parent_unavailable: previous }),
  }
  // Whether this turn made the commit, now or before a crash. A commit from before the crash is recognised by its subject.
  const isOwn = commit !== parent || (await commitSubject(lineage, commit)) === snapshotMessage(turnId)
  return isOwn ? outcomes.committed(fields) : outcomes.unchanged(fields)
}

/** Makes the folder of the turn, in which git looks for changes. A program may have removed it. */
async function makeTurnRoot({ turnRoot }: TurnIndex): Promise<void> {
  try {
    await mkdir(turnRoot, { recursive: true })
  } catch (error) {
    throw new Failure('workspace.failed', 'the folder of this turn can not be reached', { cause: error })
  }
}

/**
 * Whether the new version lacks the files of the version before. This happens if the branch has no commit yet. It also happens if the
 * version before is a manifest in the journal that `adoptVersion` could not read and commit.
 */
async function isParentLost(previous: string, parent: string | undefined, { lineage, history }: GitPublishContext): Promise<boolean> {
  if (parent === undefined) return true
  return hasManifest(await history.manifest(previous)) && (await lineage.commitOf(lineage.refs.version(previous))) === undefined
}

interface NewVersion {
  /** The hashes of the files of the new version, by path. Undefined when there is nothing to commit. */
  plan(head: Head): ReadonlyMap<string, string> | undefined
  /** The contents of files that the repository may not have yet, by hash. */
  readonly contents: ReadonlyMap<string, Uint8Array>
  /** The time of the version, in milliseconds. */
  readonly now: number
  /** The commit of the version before, according to the journal. */
  readonly base?: string | undefined
  /** The head of the branch, if it was already read. */
  readonly head?: Promise<Head>
}

/** Commits a version on top of the branch and sets its ref. If another turn moves the branch meanwhile, the commit is made again. */
export async function commitVersion(
  { lineage, origin }: Pick<GitPublishContext, 'lineage' | 'origin'>,
  turnId: string,
  { plan, contents, now, base, head: known }: NewVersion,
) {
  for (let attempt = 0; attempt <= MAX_RETRIES; attempt++) {
    // In later attempts, another turn has moved the branch. Then `base` is not used, so that the new version keeps the files of that turn.
    const head = await ((attempt === 0 && known) || readHead({ lineage, origin }, turnId, attempt === 0 ? base : undefined))
    const version = plan(head)
    if (!version) return undefined
    const { commit: parent, hashes } = head
    const changes = changesBetween(hashes, version)
    const snapshot = { turnId, parent, changes, contents, now }
    const pending = changes.size === 0 && parent !== undefined ? Promise.resolve(parent) : writeSnapshot(lineage, snapshot)
    if (!(await moveRefs({ lineage, origin }, turnId, { commit: pending, from: parent }))) continue
    const commit = await pending
    lineage.remember(commit, version)
    return { commit, parent, version }
  }
  throw new Failure('workspace.failed', 'other turns of this conversation kept publishing at the same time')
}

/** The last commit of the branch, and the hashes of its files by path. */
interface Head {
  readonly commit: string | undefined
  readonly hashes: ReadonlyMap<string, string>
  /** The files before the turn. They differ from `hashes` if a process has published a version and died before the journal had it. */
  readonly before: ReadonlyMap<string, string>
}

async function readHead(
  { lineage, origin }: Pick<GitPublishContext, 'lineage' | 'origin'>,
  turnId: string,
  recorded?: string,
): Promise<Head> {
  const commit = await lineage.commitOf(lineage.refs.branch)
  if (commit === undefined) return { commit, hashes: noFiles, before: noFiles }
  const hashes = await lineage.hashesOf(commit)
  const known = recorded === undefined || recorded === commit ? undefined : await hashesIfPresent(lineage, recorded)
  if (known) return { commit, hashes, before: known }
  if (recorded === commit) return { commit, hashes, before: hashes }
  // This turn may have made the commit before a crash. Without an origin it ran on this machine, so its version has a ref here.
  const mayBeOwn = origin !== undefined || (await lineage.commitOf(lineage.refs.version(turnId))) === commit
  const base = mayBeOwn ? await commitBefore(lineage, commit, turnId) : commit
  return { commit, hashes, before: base === commit ? hashes : base === undefined ? noFiles : await lineage.hashesOf(base) }
}

/** The commit of the version of a turn, according to its publish record or else to its ref. Undefined when there is none. */
async function recordedCommit(turnId: string | undefined, { lineage, history }: GitPublishContext): Promise<string | undefined> {
  if (turnId === undefined) return undefined
  const record = await history.manifest(turnId)
  const commit = isObject(record) ? record.commit_sha : undefined
  return typeof commit === 'string' && /^[0-9a-f]{40}$/.test(commit) ? commit : lineage.commitOf(lineage.refs.version(turnId))
}

/** The hashes of the files of a commit, by path. Undefined when the repository does not have the commit. */
async function hashesIfPresent(lineage: Lineage, commit: string): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    return await lineage.hashesOf(commit)
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}

const noFiles: ReadonlyMap<string, string> = new Map()

/** The newest commit of the branch that another turn has made. Undefined when there is none. */
async function commitBefore(lineage: Lineage, head: string, turnId: string): Promise<string | undefined> {
  let commit: string | undefined = head
  while (commit !== undefined) {
    const [subject, parents = '']: readonly string[] = outputText(await lineage.git(['log', '-1', '--format=%s%n%P', commit])).split('\n')
    if (subject !== snapshotMessage(turnId)) return commit
    commit = parents.split(' ')[0] || undefined
  }
  return undefined
}

/** The changed files: the new hash by path, or undefined for a removed file. */
function changesBetween(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ReadonlyMap<string, string | undefined> {
  const put = [...after].filter(([rel, hash]) => before.get(rel) !== hash)
  const removed = [...before.keys()].filter((rel) => !after.has(rel)).map((rel) => [rel, undefined] as const)
  return new Map<string, string | undefined>([...put, ...removed])
}

interface RefUpdate {
  /** The hash of the new commit. It is a promise, so that git can be started before the hash is known. */
  readonly commit: Promise<string>
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
  { commit, from }: RefUpdate,
): Promise<boolean> {
  const { refs } = lineage
  if (origin && !(await origin.push(turnId, await commit, from))) return false
  const input = commit.then((hash) =>
    [
      'start',
      `update ${refs.branch} ${hash} ${from ?? '0'.repeat(40)}`,
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

const snapshotMessage = (turnId: string): string => `React workspace snapshot ${turnId}`

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
