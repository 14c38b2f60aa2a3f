import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createFileBlobs } from '../../adapters/blobs/file.ts'
import { createSystemClock } from '../../adapters/clock/system.ts'
import { createDiskFiles } from '../../adapters/files/disk.ts'
import { createFileObjects, keyOfFile } from '../../adapters/hosting/file-objects.ts'
import type { ObjectStore } from '../../adapters/hosting/objects.ts'
import type { CopySource, CopyTarget } from '../../adapters/store/shared/copy.ts'
import { createOwner } from '../../agent/conversation/claim.ts'
import { Failure } from '../../core/failure.ts'
import type { ListedBlobs } from '../../ports/blobs.ts'
import { listTree } from './tree.ts'

/** One side of a move: a folder with an SQLite file, or a database of PostgreSQL with the folder of its working files. */
export type Place =
  | { readonly kind: 'folder'; readonly data: string }
  | { readonly kind: 'database'; readonly url: string; readonly data: string; readonly prepare: boolean }

/** The functions for the objects of hosted files that a move needs. */
export interface MovedObjects extends Pick<ObjectStore, 'put' | 'get'> {
  keys(): AsyncIterable<string>
}

/** The files of a place that are not in its tables. */
export interface PlaceFiles {
  readonly blobs: ListedBlobs
  readonly objects: MovedObjects
}

/** The blobs and objects of a bucket, if a place has its files there. */
export type BucketFiles = PlaceFiles | undefined

/** The keys of all hosted files are below this key. */
export const HOSTED_KEYS = 'daybook/tenants'

/** Whether a text is the address of a database. Any other text is the path of a folder. */
export const isDatabaseUrl = (text: string): boolean => ['postgres:', 'postgresql:'].includes(URL.parse(text)?.protocol ?? '')

export function parsePlace(text: string, data: string, prepare = true): Place {
  if (isDatabaseUrl(text)) return { kind: 'database', url: text, data: resolve(data), prepare }
  return { kind: 'folder', data: resolve(text) }
}

/** Names a place in messages, without its password. */
export function describePlace(place: Place): string {
  if (place.kind === 'folder') return place.data
  const { hostname, port, pathname } = new URL(place.url)
  return `postgres://${hostname}:${port || '5432'}${pathname}`
}

/** Identifies the source of a move, so that an unfinished move is continued only if it has the same source. */
export const identityOf = (place: Place): string =>
  place.kind === 'folder' && existsSync(place.data) ? realpathSync(place.data) : describePlace(place)

const databaseFile = (folder: string) => join(folder, 'daybook.db')
const draftFolder = (folder: string) => join(folder, 'moving')
const markerFile = (folder: string) => join(draftFolder(folder), 'source')

/** Runs `work` with the content of a place. Throws if another process uses the place. */
export async function withSource<T>(
  place: Place,
  bucket: BucketFiles,
  work: (source: CopySource, files: PlaceFiles) => Promise<T>,
): Promise<T> {
  if (place.kind === 'database') {
    const { withPostgresSource } = await import('../../adapters/store/postgres/move/move.ts')
    const options = { url: place.url, prepare: place.prepare, owner: createOwner(createSystemClock()), blobs: bucket?.blobs }
    return withPostgresSource(options, (source, files) => work(source, bucket ?? inDatabase(files)))
  }
  const file = databaseFile(place.data)
  if (!existsSync(file)) throw new Failure('store.failed', `there are no conversations in ${place.data}: nothing to move`)
  const { withSqliteSource } = await import('../../adapters/store/sqlite/copy.ts')
  return withSqliteSource(file, (source) => work(source, bucket ?? inFolder(place.data)))
}

/** Runs `work` with a place that is being filled. Servers can use the place only after `work` has called `finish`. */
export async function withTarget<T>(
  place: Place,
  source: string,
  bucket: BucketFiles,
  work: (target: CopyTarget, files: PlaceFiles) => Promise<T>,
): Promise<T> {
  if (place.kind === 'database') {
    const { withPostgresTarget } = await import('../../adapters/store/postgres/move/move.ts')
    const options = { url: place.url, prepare: place.prepare, source, blobs: bucket?.blobs }
    return withPostgresTarget(options, (target, files) => work(target, bucket ?? inDatabase(files)))
  }
  const { data } = place
  mkdirSync(draftFolder(data), { recursive: true, mode: 0o700 })
  writeFileSync(markerFile(data), source)
  const { withSqliteTarget } = await import('../../adapters/store/sqlite/copy.ts')
  const draft = databaseFile(draftFolder(data))
  const result = await withSqliteTarget(draft, databaseFile(data), (target) => work(target, bucket ?? inFolder(data)))
  rmSync(draftFolder(data), { recursive: true })
  return result
}

function inFolder(data: string): PlaceFiles {
  const hosted = join(data, 'hosted')
  const { put, get } = createFileObjects({ files: createDiskFiles({ folder: hosted }) })
  async function* keys(): AsyncGenerator<string> {
    for await (const { path, kind } of listTree(hosted, HOSTED_KEYS)) if (kind === 'file' && path.endsWith('/=')) yield keyOfFile(path)
  }
  return { blobs: createFileBlobs({ folder: join(data, 'blobs') }), objects: { put, get, keys } }
}

const inDatabase = ({
  blobs,
  objects,
}: {
  readonly blobs: ListedBlobs
  readonly objects: Omit<ObjectStore, 'uriOf' | 'keyOf'>
}): PlaceFiles => ({
  blobs,
  objects: { put: objects.put, get: objects.get, keys: () => objects.list(HOSTED_KEYS) },
})

export const inBucket = (objects: ObjectStore, blobs: ListedBlobs): PlaceFiles => inDatabase({ blobs, objects })

/**
 * Throws if the target has data, unless it comes from an unfinished move from `source`. `isResumed` says whether there is such a move,
 * which is then continued.
 */
export async function checkTarget(place: Place, source: string): Promise<{ readonly isResumed: boolean }> {
  const name = describePlace(place)
  const { hasData, unfinishedFrom } = place.kind === 'folder' ? inspectFolder(place.data) : await inspectDatabase(place)
  if (unfinishedFrom !== undefined && unfinishedFrom !== source) {
    const draft = place.kind === 'folder' ? `remove ${place.data}` : 'drop its schema daybook_moving'
    throw new Failure('store.failed', `${name} has an unfinished move from ${unfinishedFrom}: finish it, or ${draft} and try again`)
  }
  if (hasData)
    throw new Failure(
      'store.failed',
      `${name} has data already, and was left as it is: choose an empty target. If an earlier move has ended there, nothing is left to do`,
    )
  return { isResumed: unfinishedFrom !== undefined }
}

interface TargetContent {
  readonly hasData: boolean
  readonly unfinishedFrom?: string
}

async function inspectDatabase({ url, prepare }: Extract<Place, { readonly kind: 'database' }>): Promise<TargetContent> {
  const { inspectTarget } = await import('../../adapters/store/postgres/move/move.ts')
  const { content, unfinishedFrom } = await inspectTarget({ url, prepare })
  return { hasData: content === 'data', ...(unfinishedFrom !== undefined && { unfinishedFrom }) }
}

function inspectFolder(data: string): TargetContent {
  const unfinishedFrom = existsSync(markerFile(data)) ? readFileSync(markerFile(data), 'utf8') : undefined
  const isUsed =
    existsSync(databaseFile(data)) || (unfinishedFrom === undefined && ['blobs', 'hosted'].some((name) => existsSync(join(data, name))))
  return { hasData: isUsed, ...(unfinishedFrom !== undefined && { unfinishedFrom }) }
}
