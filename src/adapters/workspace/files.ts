import { createHash } from 'node:crypto'
import { Failure } from '../../core/failure.ts'
import { isObject } from '../../core/json.ts'
import { filePath } from '../../core/path/build.ts'
import { parsePath } from '../../core/path/logical.ts'
import type { Files } from '../../ports/files.ts'
import type { HydrationRef, RecordedFiles } from '../../ports/workspace.ts'
import { isExcluded, isWithin } from './names.ts'

/** One file of a version. */
export interface StoredFile {
  readonly size: number
  readonly hash: string
  /** The turn whose blocks in the journal hold the bytes. Set when the version store has no copy. */
  readonly recorded?: string
  /** The turn whose publish block keeps the blob with the bytes. Set when the file was found in a manifest. */
  readonly keptBy?: string
}

/** The files of a published version, by path below `files/`. */
export type Version = ReadonlyMap<string, StoredFile>

/** The store of published versions. Each kind of workspace has its own. */
export interface VersionStore {
  /** The version that a turn published; undefined when it published none or the store does not have it. May throw `versionUnavailable`. */
  find(turnId: string, history: RecordedFiles): Promise<Version | undefined>
  /** The bytes of these files, by path. Files whose bytes are lost are left out. */
  read(files: Version, history: RecordedFiles): Promise<ReadonlyMap<string, Uint8Array>>
  /** Whether these are the bytes of the file. */
  isContent(file: StoredFile, bytes: Uint8Array): boolean
}

/** The files of a turn that match a `HydrationRef`. Their paths are relative to the ref's area, such as `files/`. */
interface TurnFiles {
  /** Files in the version store. Their bytes are read only when needed. */
  readonly stored: ReadonlyMap<string, StoredFile>
  /** The bytes of files from the journal, or from the turn's folder on this machine. */
  readonly recorded: ReadonlyMap<string, Uint8Array>
  /** Files that are known to exist, but whose bytes were not found. */
  readonly missing: readonly string[]
}

/**
 * Finds files of a turn. If the turn has a version, the version alone says what its `files/` holds. Otherwise the journal and the turn's
 * folder on this machine are searched. Throws `versionUnavailable` when the turn has a version that can not be reached.
 */
export async function findTurnFiles(
  turnId: string,
  { area, rel }: HydrationRef,
  { versions, files, history }: { readonly versions: VersionStore; readonly files: Files; readonly history: RecordedFiles },
): Promise<TurnFiles> {
  const version = area === 'files' ? await findVersion(turnId, versions, history) : undefined
  if (version) return { stored: new Map([...version].filter(([path]) => isWithin(path, rel))), recorded: new Map(), missing: [] }

  const isWanted = (path: string) => (area === 'files' ? isWithin(path, rel) : path === rel)
  const onDisk = [...(await listBelow(files, `${turnId}/${area}`)).keys()].filter((path) => area !== 'files' || !isExcluded(path))
  const known = new Set([...recordedRels(await history.paths(turnId), area), ...onDisk].filter(isWanted))
  if (rel !== '') known.add(rel) // the named file is looked for even if no list has it
  const recorded = new Map<string, Uint8Array>()
  const missing: string[] = []
  for (const path of [...known].sort()) {
    const bytes = (await history.bytes(filePath(turnId, area, path))) ?? (await readIfSafe(files, `${turnId}/${area}/${path}`))
    if (bytes) recorded.set(path, bytes)
    else if (path !== rel) missing.push(path)
  }
  return { stored: new Map(), recorded, missing }
}

/**
 * The version of a turn, as its publish record in the journal says. It is empty when the turn has left no file. Undefined when the turn has
 * no version. Throws `versionUnavailable` when it has one that can not be reached.
 */
export async function findVersion(turnId: string, versions: VersionStore, history: RecordedFiles): Promise<Version | undefined> {
  const version = await versions.find(turnId, history)
  if (version) return version
  const record = await history.manifest(turnId)
  if (!hasVersion(record)) return undefined
  if (record.status === 'published') throw versionUnavailable(turnId, 'it is not in the storage of versions that this machine uses')
  return new Map()
}

/** Whether the publish record of a turn says that the turn has left a version. It may be a version without files. */
export const hasVersion = (record: unknown): record is Readonly<Record<string, unknown>> =>
  isObject(record) && (record.status === 'published' || record.reason === 'empty_workspace')

/** The error for a version that exists but can not be reached, as a whole or in part. */
export const versionUnavailable = (turnId: string, reason: string, cause?: unknown): Failure =>
  new Failure('workspace.failed', `the files of ${turnId} can not be reached now: ${reason}`, {
    details: { code: 'workspace_version_unavailable', turn_id: turnId },
    cause,
  })

export const isVersionUnavailable = (error: Failure): boolean => error.details.code === 'workspace_version_unavailable'

function recordedRels(logicalPaths: readonly string[], area: HydrationRef['area']): readonly string[] {
  return logicalPaths.flatMap((path) => {
    const parsed = parsePath(path)
    return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.area === area ? [parsed.rel] : []
  })
}

export const filesFolder = (turnId: string): string => `${turnId}/files`

/** Every file below a folder, by its path below that folder. Names that begin with a dot are included. */
export async function listBelow(
  files: Files,
  folder: string,
): Promise<ReadonlyMap<string, { readonly size: number; readonly readOnly: boolean }>> {
  const listed = await files.list(folder, { dotEntries: true })
  if (listed.truncated) throw new Failure('workspace.failed', `${folder} holds more files than a workspace can keep`)
  return new Map(listed.files.map(({ path, size, readOnly }) => [path.slice(folder.length + 1), { size, readOnly }]))
}

export async function isEmpty(files: Files, folder: string): Promise<boolean> {
  return (await files.list(folder, { limit: 1, dotEntries: true })).files.length === 0
}

/** The bytes of the files that are published. Files that can not be read are left out. */
export async function readPublishable(
  files: Files,
  folder: string,
  kept: { has(rel: string): boolean },
): Promise<ReadonlyMap<string, Uint8Array>> {
  return readFiles(
    files,
    folder,
    [...(await listBelow(files, folder)).keys()].filter((rel) => kept.has(rel)),
  )
}

const PARALLEL_READS = 16

/** The bytes of these files, by path below the folder, in the given order. Files that can not be read are left out. */
export async function readFiles(files: Files, folder: string, rels: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
  const contents = new Map<string, Uint8Array | undefined>(rels.map((rel) => [rel, undefined]))
  const queue = rels.values()
  const worker = async () => {
    for (const rel of queue) contents.set(rel, await readIfSafe(files, `${folder}/${rel}`))
  }
  await Promise.all(Array.from({ length: PARALLEL_READS }, worker))
  return new Map([...contents].filter((entry): entry is [string, Uint8Array] => entry[1] !== undefined))
}

/** The bytes of a file. Undefined when there is no such file, and for a link, a pipe or an unsafe name. A file that is too large throws. */
export async function readIfSafe(files: Files, path: string): Promise<Uint8Array | undefined> {
  try {
    return await files.read(path)
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe' && error.details.reason !== 'too_large') return undefined
    throw error
  }
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
