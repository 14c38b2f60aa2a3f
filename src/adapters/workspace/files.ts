import { Failure } from '../../core/failure.ts'
import { filePath } from '../../core/path/build.ts'
import { parsePath } from '../../core/path/logical.ts'
import type { Files } from '../../ports/files.ts'
import type { HydrationRef, RecordedFiles } from '../../ports/workspace.ts'
import { isExcluded, isWithin } from './names.ts'

/** Files of a turn that a ref means, by path below their area. */
export interface TurnFiles {
  /** Kept by the workspace under a hash, and fetched only when needed. */
  readonly stored: ReadonlyMap<string, StoredFile>
  /** From the journal, or from what lies here and nobody kept. */
  readonly recorded: ReadonlyMap<string, Uint8Array>
  /** Known, but their bytes are nowhere. */
  readonly missing: readonly string[]
}

/** In the version that the turn left, else in what its journal recorded, else in what is still here. */
export async function findTurnFiles(
  turnId: string,
  { area, rel }: HydrationRef,
  { versions, files, history }: { readonly versions: VersionStore; readonly files: Files; readonly history: RecordedFiles },
): Promise<TurnFiles> {
  const version = area === 'files' ? await versions.find(turnId, history) : undefined
  const kept = new Map([...(version ?? [])].filter(([path]) => isWithin(path, rel)))
  if (kept.size > 0) return { stored: kept, recorded: new Map(), missing: [] }

  const wanted = area === 'files' ? isWithin : (path: string, name: string) => path === name
  const known = new Set(relsOf(await history.paths(turnId), area).filter((path) => wanted(path, rel)))
  const here = await listBelow(files, `${turnId}/${area}`)
  for (const path of here.keys()) if (wanted(path, rel)) known.add(path)
  if (rel !== '') known.add(rel) // an exact ref is asked for even when no list names it
  const recorded = new Map<string, Uint8Array>()
  const lost: string[] = []
  for (const path of [...known].sort()) {
    const bytes = (await history.bytes(filePath(turnId, area, path))) ?? (await readLocal(files, `${turnId}/${area}/${path}`))
    if (bytes) recorded.set(path, bytes)
    else if (path !== rel) lost.push(path)
  }
  return { stored: new Map(), recorded, missing: lost }
}

const readLocal = readIfSafe

function relsOf(logical: readonly string[], area: HydrationRef['area']): readonly string[] {
  return logical.flatMap((path) => {
    const parsed = parsePath(path)
    return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.area === area ? [parsed.rel] : []
  })
}

export const filesFolder = (turnId: string): string => `${turnId}/files`

/** Everything a turn has below a folder, by its path below that folder. Dot-entries belong to it; what is never published does not. */
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

/** What would be published: without what never is, and without what can not be read. */
export async function readPublishable(files: Files, folder: string): Promise<ReadonlyMap<string, Uint8Array>> {
  return readFiles(
    files,
    folder,
    [...(await listBelow(files, folder)).keys()].filter((rel) => !isExcluded(rel)),
  )
}

/** Several at once: most of the time is waiting for the disk. */
const PARALLEL_READS = 16

/** By path below the folder, in the order asked for; without what can not be read. */
export async function readFiles(files: Files, folder: string, rels: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
  const read = new Map<string, Uint8Array | undefined>(rels.map((rel) => [rel, undefined]))
  const waiting = rels.values()
  const worker = async () => {
    for (const rel of waiting) read.set(rel, await readIfSafe(files, `${folder}/${rel}`))
  }
  await Promise.all(Array.from({ length: PARALLEL_READS }, worker))
  return new Map([...read].filter((each): each is [string, Uint8Array] => each[1] !== undefined))
}

/** Undefined also for what is no file of ours: a link, a pipe, a name that nobody may use. */
export async function readIfSafe(files: Files, path: string): Promise<Uint8Array | undefined> {
  try {
    return await files.read(path)
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe' && error.details.reason !== 'too_large') return undefined
    throw error
  }
}

/** What one file of a version is known by, where it is kept. */
export interface StoredFile {
  readonly size: number
  readonly hash: string
  /** The turn whose journal holds the bytes, where nobody else does. */
  readonly recorded?: string
}

/** By path below `files/`. */
export type Version = ReadonlyMap<string, StoredFile>

/** Where a kind of workspace keeps what turns left behind. */
export interface VersionStore {
  /** Undefined when the turn left none. */
  find(turnId: string, history: RecordedFiles): Promise<Version | undefined>
  /** By path; without those that are gone. */
  read(files: Version, history: RecordedFiles): Promise<ReadonlyMap<string, Uint8Array>>
  /** The name under which these bytes would be kept. */
  hashOf(bytes: Uint8Array): string
}
