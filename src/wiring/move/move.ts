import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { createObjectBlobs } from '../../adapters/hosting/blobs-in-objects.ts'
import { type CopySource, type CopyTarget, digestOf } from '../../adapters/store/shared/copy.ts'
import { putPieces } from '../../core/collections/byte-pieces.ts'
import { Failure } from '../../core/failure.ts'
import type { ListedBlobs, StoredBlob } from '../../ports/blobs.ts'
import { openBucket } from '../bucket.ts'
import type { BucketOptions } from '../store.ts'
import {
  type BucketFiles,
  checkTarget,
  describePlace,
  identityOf,
  inBucket,
  type MovedObjects,
  type Place,
  type PlaceFiles,
  parsePlace,
  withSource,
  withTarget,
} from './place.ts'
import { checkEntry, copyEntry, listTree, type TreeEntry } from './tree.ts'

/** Which sides of a move have their blobs and hosted files in the bucket of the settings. */
export type BucketSide = 'from' | 'to' | 'both' | 'none'

export interface MoveOptions {
  /** A folder, or the address of a PostgreSQL database. */
  readonly from: string
  readonly to: string
  /** The folder of the working files of a side that is a database. */
  readonly data: string
  /** `off` for a connection pooler that does not allow prepared statements. */
  readonly databasePrepare?: 'on' | 'off' | undefined
  readonly s3?: BucketOptions | undefined
  readonly bucket?: BucketSide | undefined
  /** Only checks and counts. */
  readonly dryRun?: boolean
  onProgress?(progress: MoveProgress): void
}

export interface MoveProgress {
  readonly step: 'blobs' | 'conversations' | 'hosted files' | 'working files' | 'checking'
  readonly done: number
  readonly total: number
}

/** What was moved, or would be moved. */
export interface MoveReport {
  readonly from: string
  readonly to: string
  readonly conversations: number
  readonly entries: number
  readonly blobs: number
  readonly blobBytes: number
  readonly hostedFiles: number
  readonly workingFiles: number
  /** Whether an earlier move was continued. */
  readonly isResumed: boolean
}

/** The folders of a data folder that are copied as they are: the files of turns, and the sign-ins at MCP servers. */
const copiedFolders = ['workspaces', 'mcp']
const PARALLEL_FILES = 4
/** Larger blobs are copied as streams, so that they are not in memory as a whole. */
const SMALL_BLOB_BYTES = 256 * 1024

/**
 * Copies a whole installation to an empty place, compares both by counts and hashes, and then makes the target available. The source is not
 * changed. No server can use the target before everything is copied. If the process dies, the next call continues its work. Throws
 * `store.failed` if a server uses the source, or if the target has other data.
 */
export async function moveInstallation(options: MoveOptions): Promise<MoveReport> {
  const { dryRun = false, onProgress = () => {} } = options
  const placeOf = (text: string) => parsePlace(text, options.data, options.databasePrepare !== 'off')
  const [from, to] = [placeOf(options.from), placeOf(options.to)]
  if (describePlace(from) === describePlace(to)) throw new RangeError('--from and --to are the same place: choose another --to')
  const buckets = bucketsOf(options)
  const source = identityOf(from)
  const { isResumed } = await checkTarget(to, source)
  const folders = await foldersToCopy(from, to, isResumed)
  const working = await entriesOf(folders)

  return withSource(from, buckets.from, async (rows, files) => {
    const isShared = options.bucket === 'both' // if both sides use the same bucket, blobs and hosted files are not copied
    const blobs = isShared ? [] : await files.blobs.list()
    const keys = isShared ? [] : await allOf(files.objects.keys())
    const counts = await rows.count()
    const report: MoveReport = {
      from: describePlace(from),
      to: describePlace(to),
      ...counts,
      blobs: blobs.length,
      blobBytes: blobs.reduce((sum, { size }) => sum + size, 0),
      hostedFiles: keys.length,
      workingFiles: working.filter(({ entry }) => entry.kind === 'file').length,
      isResumed,
    }
    if (to.kind === 'database') await checkIds(rows)
    if (buckets.to && !isShared && !isResumed) await checkBucketEmpty(buckets.to)
    if (dryRun) return report
    await withTarget(to, source, buckets.to, async (target, targetFiles) => {
      await copyBlobs(files.blobs, targetFiles.blobs, blobs, onProgress)
      await copyConversations(rows, target, counts.conversations, onProgress)
      await copyObjects(files.objects, targetFiles.objects, keys, onProgress)
      await copyWorkingFiles(working, onProgress)
      await checkCopy({ rows, target, files, targetFiles, blobs, keys, working, onProgress })
      const [latestEpoch, unreferencedBlobs] = [await rows.latestEpoch(), await rows.unreferencedBlobs()]
      await target.finish({ latestEpoch, unreferencedBlobs, budgets: await rows.budgets(), receipts: await rows.receipts() })
    })
    return report
  })
}

function bucketsOf({ s3, bucket }: MoveOptions): { readonly from: BucketFiles; readonly to: BucketFiles } {
  const objects = openBucket(s3)
  if (objects && bucket === undefined)
    throw new RangeError('s3.bucket is set: say with --s3 from, to, both or none which side has its files in the bucket')
  if (!objects && bucket !== undefined && bucket !== 'none') throw new RangeError(`--s3 ${bucket} needs a bucket: set DAYBOOK_S3_BUCKET`)
  const files = objects && inBucket(objects, createObjectBlobs({ objects }))
  return { from: bucket === 'from' || bucket === 'both' ? files : undefined, to: bucket === 'to' || bucket === 'both' ? files : undefined }
}

interface FolderPair {
  readonly from: string
  readonly to: string
}

/**
 * The folders to copy. Empty if both sides use the same data folder. Throws if the target already has such a folder from another
 * installation.
 */
async function foldersToCopy(from: Place, to: Place, isResumed: boolean): Promise<readonly FolderPair[]> {
  const [source, target] = await Promise.all([from, to].map(({ data }) => realpath(data).catch(() => data)))
  if (source === target) return []
  const pairs = copiedFolders.map((name) => ({ from: join(from.data, name), to: join(to.data, name) }))
  for (const pair of isResumed ? [] : pairs)
    for await (const _entry of listTree(pair.to))
      throw new Failure('store.failed', `${pair.to} has files of another installation: choose an empty folder with --data or --to`)
  return pairs
}

async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

type WorkingFile = FolderPair & { readonly entry: TreeEntry }

async function entriesOf(pairs: readonly FolderPair[]): Promise<readonly WorkingFile[]> {
  const found: WorkingFile[] = []
  for (const pair of pairs) for await (const entry of listTree(pair.from)) found.push({ ...pair, entry })
  return found
}

/**
 * Throws if PostgreSQL can not store the name of a conversation, because it has the character U+0000. Such a name can be given only with
 * the SDK.
 */
async function checkIds(rows: CopySource): Promise<void> {
  for await (const id of rows.ids())
    if (id.includes('\0'))
      throw new Failure('store.failed', `PostgreSQL can not store the conversation ${JSON.stringify(id)}: its name has the character NUL`)
}

async function checkBucketEmpty({ blobs, objects }: PlaceFiles): Promise<void> {
  const taken = () => new Failure('store.failed', 'the bucket has files already: choose another bucket, or another DAYBOOK_S3_PREFIX')
  for await (const _key of objects.keys()) throw taken()
  if ((await blobs.list()).length > 0) throw taken()
}

type OnProgress = (progress: MoveProgress) => void

/** Runs `work` for all items, some of them at the same time. */
async function forAll<T>(
  items: readonly T[],
  step: MoveProgress['step'],
  onProgress: OnProgress,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let [next, done] = [0, 0]
  const run = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) {
      await work(item)
      onProgress({ step, done: ++done, total: items.length })
    }
  }
  await Promise.all(Array.from({ length: PARALLEL_FILES }, run))
}

const copyBlobs = (from: ListedBlobs, to: ListedBlobs, blobs: readonly StoredBlob[], onProgress: OnProgress) =>
  forAll(blobs, 'blobs', onProgress, async (blob) => {
    // a busy bucket gives no answer in time; `put` then asks again, and waits longer
    if (await to.has(blob.sha256).catch(() => false)) return
    // `get` and `stream` check the hash
    if (blob.size <= SMALL_BLOB_BYTES) await to.put(await from.get(blob.sha256))
    else await putPieces(to, from.stream(blob))
  })

async function copyConversations(rows: CopySource, target: CopyTarget, total: number, onProgress: OnProgress): Promise<void> {
  let done = 0
  for await (const id of rows.ids()) {
    if (!(await target.has(id))) await copyConversation(rows, target, id)
    onProgress({ step: 'conversations', done: ++done, total })
  }
}

async function copyConversation(rows: CopySource, target: CopyTarget, id: string): Promise<void> {
  const conversation = await rows.read(id)
  if (conversation) await target.write(conversation)
}

const copyObjects = (from: MovedObjects, to: MovedObjects, keys: readonly string[], onProgress: OnProgress) =>
  forAll(keys, 'hosted files', onProgress, async (key) => {
    const bytes = await from.get(key)
    if (bytes) await to.put(key, bytes)
  })

async function copyWorkingFiles(working: readonly WorkingFile[], onProgress: OnProgress): Promise<void> {
  for (const { to } of working) await mkdir(to, { recursive: true, mode: 0o700 })
  let done = 0
  for (const { from, to, entry } of working) {
    await copyEntry(from, to, entry) // one after the other, because a folder must be made before its content is copied
    onProgress({ step: 'working files', done: ++done, total: working.length })
  }
}

interface Copy {
  readonly rows: CopySource
  readonly target: CopyTarget
  readonly files: PlaceFiles
  readonly targetFiles: PlaceFiles
  readonly blobs: readonly StoredBlob[]
  readonly keys: readonly string[]
  readonly working: readonly WorkingFile[]
  readonly onProgress: OnProgress
}

/**
 * Compares the copy with the source. A conversation that differs is copied once more, because a server may have used the source after an
 * interrupted move.
 */
async function checkCopy({ rows, target, files, targetFiles, blobs, keys, working, onProgress }: Copy): Promise<void> {
  const counts = await rows.count()
  let done = 0
  for await (const id of rows.ids()) {
    if ((await digest(rows, id)) !== (await digest(target, id))) {
      await copyConversation(rows, target, id)
      if ((await digest(rows, id)) !== (await digest(target, id))) throw differs(`conversation ${id}`)
    }
    onProgress({ step: 'checking', done: ++done, total: counts.conversations })
  }
  if ((await target.count()).conversations !== counts.conversations)
    // a conversation that only the target has was deleted from the source after an interrupted move
    for await (const id of target.ids()) if (!(await rows.read(id))) await target.remove(id)
  const found = await target.count()
  if (found.conversations !== counts.conversations || found.entries !== counts.entries)
    throw differs('the number of conversations or entries')
  await forAll(blobs, 'checking', onProgress, async (blob) => {
    for await (const _piece of targetFiles.blobs.stream(blob)) {
      // the stream compares the bytes with the hash
    }
  })
  await forAll(keys, 'checking', onProgress, async (key) => {
    const [before, after] = [await files.objects.get(key), await targetFiles.objects.get(key)]
    if (!before || !after || Buffer.compare(before, after) !== 0) throw differs(`the hosted file ${key}`)
  })
  await forAll(working, 'checking', onProgress, ({ from, to, entry }) => checkEntry(from, to, entry))
}

async function digest(rows: CopySource, id: string): Promise<string | undefined> {
  const conversation = await rows.read(id)
  return conversation && (await digestOf(conversation)).hash
}

const differs = (what: string) =>
  new Failure('store.damaged', `after the copy, ${what} differs from the source: the source was not changed; run the move again`)
