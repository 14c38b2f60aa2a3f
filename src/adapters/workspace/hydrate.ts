import { Failure } from '../../core/failure.ts'
import { filePath } from '../../core/path/build.ts'
import { redact } from '../../core/secrets.ts'
import type { Files } from '../../ports/files.ts'
import type { Hydration, HydrationRef, RecordedFiles } from '../../ports/workspace.ts'
import {
  findTurnFiles,
  isVersionUnavailable,
  listBelow,
  readFiles,
  type StoredFile,
  type VersionStore,
  versionUnavailable,
} from './files.ts'
import { isWithin } from './names.ts'

interface HydrationContext {
  readonly versions: VersionStore
  readonly files: Files
  readonly history: RecordedFiles
}

/** If this many files or more have to be written, the whole folder is replaced in one step. Fewer files are written one by one. */
const MIN_FOLDER_WRITE = 4

/** Fetches files of an earlier turn into its folder on this machine. The files are read-only. */
export async function hydrate(turnId: string, refs: readonly HydrationRef[], context: HydrationContext): Promise<Hydration> {
  const present: { ref: HydrationRef; files: { path: string; size: number }[] }[] = []
  const missing: HydrationRef[] = []
  const errors: HydrationError[] = []
  let fetched = 0
  for (const ref of refs) {
    const result = await hydrateRef(turnId, ref, context).catch(failureOrThrow)
    if (result instanceof Failure) {
      errors.push({ ref, message: redact(result.message), ...(isVersionUnavailable(result) && { code: unavailableCode }) })
      continue
    }
    fetched += result.fetched
    if (result.lost.length > 0) errors.push({ ref, message: missingBytesMessage(result.lost) })
    if (result.sizes.size > 0) present.push({ ref, files: presentFiles(turnId, ref, result.sizes) })
    else if (result.lost.length === 0) missing.push(ref)
  }
  return { present, missing, errors, fetched }
}

type HydrationError = Hydration['errors'][number]

const unavailableCode = 'workspace_version_unavailable'

/**
 * Fetches files of the current turn. Files that exist in its folder are not changed. A file is fetched only if it is missing in the folder
 * and `refs` contains its exact path.
 */
export async function hydrateCurrent(
  turnId: string,
  refs: readonly HydrationRef[],
  { files, history }: HydrationContext,
): Promise<Hydration> {
  const present: { ref: HydrationRef; files: { path: string; size: number }[] }[] = []
  const missing: HydrationRef[] = []
  let fetched = 0
  for (const ref of refs) {
    const onDisk = await listBelow(files, `${turnId}/${ref.area}`)
    const sizes = new Map([...onDisk].filter(([rel]) => isWithin(rel, ref.rel)).map(([rel, { size }]) => [rel, size]))
    const bytes = sizes.size > 0 || ref.rel === '' ? undefined : await history.bytes(filePath(turnId, ref.area, ref.rel))
    if (bytes) {
      await files.write(`${turnId}/${ref.area}/${ref.rel}`, bytes, { readOnly: ref.area === 'attachments' })
      sizes.set(ref.rel, bytes.length)
      fetched++
    }
    if (sizes.size > 0) present.push({ ref, files: presentFiles(turnId, ref, sizes) })
    else missing.push(ref)
  }
  return { present, missing, errors: [], fetched }
}

/**
 * Returns the error if it is a `Failure`, for example because the disk is full. The caller reports it for the ref that failed, and still
 * fetches the other refs. Any other error is a bug and is thrown.
 */
function failureOrThrow(error: unknown): Failure {
  if (error instanceof Failure) return error
  throw error
}

interface HydratedRef {
  /** The sizes of the files that were found. The key is the path below `files/`, `outputs/` or `attachments/`, such as `app/report.md`. */
  readonly sizes: ReadonlyMap<string, number>
  /** Files that the journal lists, but whose bytes were not found. */
  readonly lost: readonly string[]
  readonly fetched: number
}

async function hydrateRef(turnId: string, ref: HydrationRef, context: HydrationContext): Promise<HydratedRef> {
  const { versions, files, history } = context
  const folder = `${turnId}/${ref.area}`
  const { stored, recorded, missing } = await findTurnFiles(turnId, ref, context)
  const onDisk = await listBelow(files, folder)
  const local = await readFiles(
    files,
    folder,
    [...stored.keys(), ...recorded.keys()].filter((rel) => onDisk.has(rel)),
  )
  const current = new Map([...local].filter(([rel, bytes]) => stored.has(rel) && versions.isContent(stored.get(rel) as StoredFile, bytes)))
  const outdated = new Map([...stored].filter(([rel]) => !current.has(rel)))
  const fetched = outdated.size > 0 ? await versions.read(outdated, history) : new Map<string, Uint8Array>()
  const lost = [...outdated.keys()].filter((rel) => !fetched.has(rel))
  if (lost.length > 0) throw versionUnavailable(turnId, missingBytesMessage(lost))
  const contents = new Map([...current, ...fetched, ...recorded])
  const changed = new Set([...contents].filter(([rel, bytes]) => !isEqual(local.get(rel), bytes)).map(([rel]) => rel))
  const toWrite = [...contents.keys()].filter((rel) => changed.has(rel) || !onDisk.get(rel)?.readOnly)
  await writeReadOnly(files, folder, { contents, toWrite, onDisk })
  const sizes = new Map([...contents].sort(([a], [b]) => (a < b ? -1 : 1)).map(([rel, bytes]) => [rel, bytes.length]))
  return { sizes, lost: missing, fetched: changed.size }
}

const isEqual = (a: Uint8Array | undefined, b: Uint8Array) => a !== undefined && Buffer.compare(a, b) === 0

interface FolderUpdate {
  readonly contents: ReadonlyMap<string, Uint8Array>
  /** The files that are missing, have other content, or are not read-only. */
  readonly toWrite: readonly string[]
  readonly onDisk: Awaited<ReturnType<typeof listBelow>>
}

/** Writes these files into the folder, read-only. The other files in the folder stay. */
async function writeReadOnly(files: Files, folder: string, { contents, toWrite, onDisk }: FolderUpdate): Promise<void> {
  const replacesReadOnly = toWrite.some((rel) => onDisk.get(rel)?.readOnly) // `write` rejects read-only files
  if (toWrite.length < MIN_FOLDER_WRITE && !replacesReadOnly && (await writeEach(files, folder, contents, toWrite))) return
  const others = await readFiles(
    files,
    folder,
    [...onDisk.keys()].filter((rel) => !contents.has(rel)),
  )
  await files.replaceFolder(folder, new Map([...others, ...contents]), { readOnly: true })
}

/**
 * Writes the files one by one. Returns false when there is an empty folder at the path of a file. The caller then replaces the whole
 * folder.
 */
async function writeEach(
  files: Files,
  folder: string,
  contents: ReadonlyMap<string, Uint8Array>,
  rels: readonly string[],
): Promise<boolean> {
  try {
    for (const rel of rels) await files.write(`${folder}/${rel}`, contents.get(rel) as Uint8Array, { readOnly: true })
    return true
  } catch (error) {
    if (error instanceof Failure && error.details.reason === 'not_a_file') return false
    throw error
  }
}

function presentFiles(turnId: string, { area }: HydrationRef, sizes: ReadonlyMap<string, number>) {
  return [...sizes].map(([rel, size]) => ({ path: `${turnId}/${area}/${rel}`, size }))
}

export const missingBytesMessage = (lost: readonly string[]) => {
  const named = lost.slice(0, 10).join(', ')
  return `${lost.length === 1 ? 'the bytes of one file are' : `the bytes of ${lost.length} files are`} nowhere to be found: ${named}`
}
