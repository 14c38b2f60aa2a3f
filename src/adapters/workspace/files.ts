import { createHash } from 'node:crypto'
import { Failure } from '../../core/failure.ts'
import { isObject } from '../../core/json.ts'
import { filePath } from '../../core/path/build.ts'
import { parsePath } from '../../core/path/logical.ts'
import type { Files, SkippedEntry, UnsafeFileReason } from '../../ports/files.ts'
import type { HydrationRef, RecordedFiles } from '../../ports/workspace.ts'
import { isExcluded, isWithin } from './names.ts'

/** One file of a version. */
export interface StoredFile {
  readonly size: number
  readonly hash: string
  /** The turn that has the bytes of the file in one of its blocks. It is set if the version store has no copy. */
  readonly recorded?: string
  /** The turn whose publish block refers to the blob with the bytes. It is set if the file is listed in a manifest. */
  readonly keptBy?: string
}

/** The files of a published version, by path below `files/`. */
export type Version = ReadonlyMap<string, StoredFile>

/** Where published versions are stored. Each kind of workspace has its own store. */
export interface VersionStore {
  /**
   * The version of a turn. Undefined when the turn published no version, or when the store does not have it. Throws `versionUnavailable`
   * when the version can not be fetched.
   */
  find(turnId: string, history: RecordedFiles): Promise<Version | undefined>
  /** The bytes of these files, by path. A file whose bytes are lost is left out. */
  read(files: Version, history: RecordedFiles): Promise<ReadonlyMap<string, Uint8Array>>
  /** Whether the file has these bytes. */
  isContent(file: StoredFile, bytes: Uint8Array): boolean
}

/** The files of a turn that match a `HydrationRef`. Paths are relative to the area of the ref, such as `files/`. */
interface TurnFiles {
  /** Files in the version store. Their bytes are not read yet. */
  readonly stored: ReadonlyMap<string, StoredFile>
  /** The bytes of files that were found in the journal, or in the folder of the turn on this machine. */
  readonly recorded: ReadonlyMap<string, Uint8Array>
  /** Files that exist according to the journal or the folder, but whose bytes were not found. */
  readonly missing: readonly string[]
}

/**
 * Finds files of a turn. If the turn has a version, only the version is searched. Otherwise the journal and the folder of the turn on this
 * machine are searched. Throws `versionUnavailable` when the turn has a version that can not be read.
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
  if (rel !== '') known.add(rel) // look for the requested file, even if neither the journal nor the folder lists it
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
 * The version of a turn, according to its publish record in the journal. Empty when the turn left no file. Undefined when the turn has no
 * version. Throws `versionUnavailable` when the turn has a version that can not be read.
 */
export async function findVersion(turnId: string, versions: VersionStore, history: RecordedFiles): Promise<Version | undefined> {
  const version = await versions.find(turnId, history)
  if (version) return version
  const record = await history.manifest(turnId)
  if (!hasVersion(record)) return undefined
  if (record.status === 'published') throw versionUnavailable(turnId, 'it is not in the storage of versions that this machine uses')
  return new Map()
}

/** Whether the publish record of a turn says that the turn has a version. The version may have no files. */
export const hasVersion = (record: unknown): record is Readonly<Record<string, unknown>> =>
  isObject(record) && (record.status === 'published' || record.reason === 'empty_workspace')

/** The error for a version that exists but can not be read completely. */
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

/** All files below a folder, by their path below this folder. Names that begin with a dot are included. */
export async function listBelow(files: Files, folder: string): Promise<FolderListing['files']> {
  return (await listFolder(files, folder)).files
}

/** The contents of a folder. All paths are below this folder. */
interface FolderListing {
  readonly files: ReadonlyMap<string, { readonly size: number; readonly readOnly: boolean }>
  /** Links and other entries that can not be opened as files. */
  readonly skipped: readonly SkippedEntry[]
}

/** All files below a folder, and the entries that can not be opened as files. Names that begin with a dot are included. */
export async function listFolder(files: Files, folder: string): Promise<FolderListing> {
  const listed = await files.list(folder, { dotEntries: true })
  if (listed.truncated) throw new Failure('workspace.failed', `${folder} has more files than a workspace can store: remove some of them`)
  return {
    files: new Map(listed.files.map(({ path, size, readOnly }) => [path.slice(folder.length + 1), { size, readOnly }])),
    skipped: skippedBelow(folder, listed.skipped),
  }
}

/** Whether there are no files below a folder. */
export async function isEmpty(files: Files, folder: string): Promise<boolean> {
  return (await files.list(folder, { limit: 1, dotEntries: true })).files.length === 0
}

/** The entries below a folder that are not files, or can not be opened. Hard links are not found. Faster than `listFolder`. */
export async function listSkipped(files: Files, folder: string): Promise<readonly SkippedEntry[]> {
  return skippedBelow(folder, (await files.list(folder, { limit: 0, dotEntries: true })).skipped)
}

const skippedBelow = (folder: string, skipped: readonly SkippedEntry[]): readonly SkippedEntry[] =>
  skipped.map(({ path, reason }) => ({ path: path.slice(folder.length + 1), reason }))

/** The reasons for which an entry is skipped although it is a file or a folder: it can not be read. */
export const unreadReasons: ReadonlySet<UnsafeFileReason> = new Set(['hard_link_blocked', 'no_access'])

const PARALLEL_READS = 16

/**
 * The bytes of these files, by path below the folder, in the order of `rels`. Files that can not be read are left out, and `onRefused` is
 * called with the reason.
 */
export async function readFiles(
  files: Files,
  folder: string,
  rels: readonly string[],
  onRefused?: (refused: SkippedEntry) => void,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const contents = new Map<string, Uint8Array | undefined>(rels.map((rel) => [rel, undefined]))
  const queue = rels.values()
  const worker = async () => {
    for (const rel of queue) contents.set(rel, await readIfSafe(files, `${folder}/${rel}`, (reason) => onRefused?.({ path: rel, reason })))
  }
  await Promise.all(Array.from({ length: PARALLEL_READS }, worker))
  return new Map([...contents].filter((entry): entry is [string, Uint8Array] => entry[1] !== undefined))
}

/**
 * The bytes of a file. Undefined when the file does not exist. Also undefined when it is a link or a pipe, has an unsafe name or can not be
 * opened. In these cases `onRefused` is called with the reason. A file that is too large throws.
 */
export async function readIfSafe(
  files: Files,
  path: string,
  onRefused?: (reason: UnsafeFileReason) => void,
): Promise<Uint8Array | undefined> {
  return ifSafe(() => files.read(path), onRefused)
}

/** Runs `work`, which opens a file. If the file is not safe to open, the result is undefined. A file that is too large throws. */
export async function ifSafe<T>(work: () => Promise<T>, onRefused?: (reason: UnsafeFileReason) => void): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'file.unsafe' && error.details.reason !== 'too_large')) throw error
    onRefused?.(error.details.reason as UnsafeFileReason)
    return undefined
  }
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
