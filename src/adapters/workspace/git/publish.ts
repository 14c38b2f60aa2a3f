import { Failure } from '../../../core/failure.ts'
import type { Files } from '../../../ports/files.ts'
import type { PublishOutcome } from '../../../ports/workspace.ts'
import { readCheckoutRecord } from '../checkout.ts'
import { filesFolder, isEmpty } from '../files.ts'
import { nextLineage, publishOutcomes } from '../publish-record.ts'
import type { Lineage, Origin } from './lineage.ts'
import { author, outputText } from './run.ts'
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

export interface Snapshot {
  readonly turnId: string
  readonly parent: string | undefined
  /** By path below `files/`: the hash of what is to be there, or nothing. */
  readonly changes: ReadonlyMap<string, string | undefined>
  /** By hash: what the repository may not have yet. */
  readonly fresh: ReadonlyMap<string, Uint8Array>
  readonly now: number
}

export const snapshotMessage = (turnId: string): string => `React workspace snapshot ${turnId}`

/** Where a commit hangs until the refs that are to name it do. */
export const importRef = (turnId: string): string => `refs/daybook-import/${turnId}`

/** A commit with exactly these changes: the tree is built from contents, not from what an index believes. One process, however many files. */
export async function writeSnapshot(lineage: Lineage, snapshot: Snapshot): Promise<string> {
  const printed = await lineage.git(['fast-import', '--quiet', '--force', '--done', '--date-format=raw'], { input: importStream(snapshot) })
  return printed.toString().trim()
}

function importStream({ turnId, parent, changes, fresh, now }: Snapshot): Buffer {
  const message = snapshotMessage(turnId)
  const who = `${author.name} <${author.email}> ${Math.floor(now / 1000)} +0000`
  const chunks: (string | Uint8Array)[] = [
    `reset ${importRef(turnId)}\n`,
    ...(parent === undefined ? [] : [`from ${parent}\n`]),
    '\n',
    `commit ${importRef(turnId)}\nmark :1\nauthor ${who}\ncommitter ${who}\n`,
    `data ${Buffer.byteLength(message)}\n${message}\n`,
  ]
  const removed = [...changes].filter(([, hash]) => hash === undefined)
  const put = [...changes].filter((change): change is [string, string] => change[1] !== undefined)
  for (const [rel] of removed) chunks.push(`D ${quotePath(rel)}\n`) // first: a folder may become a file
  for (const [rel, hash] of put) {
    const bytes = fresh.get(hash)
    if (bytes === undefined) chunks.push(`M 100644 ${hash} ${quotePath(rel)}\n`)
    else chunks.push(`M 100644 inline ${quotePath(rel)}\ndata ${bytes.length}\n`, bytes, '\n')
  }
  chunks.push('\nget-mark :1\ndone\n')
  return Buffer.concat(chunks.map((chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : chunk)))
}

const quotePath = (rel: string) => `"files/${rel.replace(/["\\]/g, (character) => `\\${character}`)}"`
