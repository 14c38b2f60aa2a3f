import { z } from 'zod'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { redact } from '../../core/secrets.ts'
import type { Files, SkippedEntry } from '../../ports/files.ts'
import type { CheckoutOutcome, CheckoutRequest, CheckoutSource, RecordedFiles } from '../../ports/workspace.ts'
import {
  filesFolder,
  findTurnFiles,
  isVersionUnavailable,
  listFolder,
  readFiles,
  type StoredFile,
  sha256Of,
  unreadReasons,
  type VersionStore,
  versionUnavailable,
} from './files.ts'
import { missingBytesMessage } from './hydrate.ts'
import { findKeptFiles, type KeptFiles } from './kept-files.ts'
import { foldersAbove, scopeOf } from './names.ts'

interface CheckoutContext {
  readonly versions: VersionStore
  readonly files: Files
  readonly runtime: Files
  readonly history: RecordedFiles
}

export interface CheckoutResult {
  readonly outcome: CheckoutOutcome
  /** The files in the folder whose content this checkout took from a version, by path. */
  readonly storedFiles: ReadonlyMap<string, StoredFile>
}

/** The bytes of files, by path below `files/`. */
type Contents = ReadonlyMap<string, Uint8Array>

/**
 * Copies the requested sources into `files/` of the turn. A source of a checkout is a file, a folder or all files of an earlier turn. All
 * sources are read before `files/` changes. Then the hashes of the new files are recorded, and `files/` is replaced in one step. If the
 * process dies, `files/` has all old files or all new ones. With the recorded hashes, the process that resumes the turn can distinguish the
 * checked-out files from the files that the turn wrote.
 */
export async function checkout(turnId: string, request: CheckoutRequest, context: CheckoutContext): Promise<CheckoutResult> {
  try {
    return await performCheckout(turnId, request, context)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return checkoutFailure(isVersionUnavailable(error) ? 'unavailable' : 'failed', [{ message: redact(error.message) }])
  }
}

async function performCheckout(turnId: string, request: CheckoutRequest, context: CheckoutContext): Promise<CheckoutResult> {
  const { files, runtime } = context
  const folder = filesFolder(turnId)
  const before = await readCheckoutRecord(runtime, turnId)
  const listed = await listFolder(files, folder)
  const refused: SkippedEntry[] = []
  const current = await readFiles(files, folder, [...listed.files.keys()], (entry) => refused.push(entry))
  const kept = await findKeptFiles(turnId, context.history, before)
  const unsaved = request.mode === 'replace' ? unsavedFiles(current, before, kept) : []
  if (unsaved.length > 0 && !request.force) return checkoutFailure('nonempty', [{ message: unsavedMessage(unsaved) }])
  const unread = unreadFiles([...listed.skipped, ...refused], kept)
  if (unread.length > 0 && !request.force) return checkoutFailure('nonempty', [{ message: unreadMessage(unread) }])

  const { sources, problems } = await readSources(request.sources, context)
  if (problems.length > 0) return checkoutFailure('missing', problems)
  const layers = sources.map(({ contents }) => contents)
  const contents = layerFiles(request.mode === 'overlay' ? [current, ...layers] : layers)
  const record = nextRecord(before, request, sources, { laid: layerFiles(layers), undone: unsaved })
  await writeCheckoutRecord(runtime, turnId, pendingRecord(before, record))
  await files.replaceFolder(folder, contents)
  await writeCheckoutRecord(runtime, turnId, record)
  const outcome: CheckoutOutcome = {
    ok: true,
    checkedOut: sources.map(({ source, contents: { size } }) => ({ source, files: size })),
    checkedOutFrom: record.from,
    files: [...contents.keys()],
  }
  return { outcome, storedFiles: storedFilesOf(sources, contents) }
}

/** The files that a tool or a program wrote in this turn. No version contains them yet. */
function unsavedFiles(current: Contents, record: CheckoutRecord | undefined, kept: KeptFiles): readonly string[] {
  return [...current].filter(([rel, bytes]) => kept.has(rel) && !record?.laid.get(rel)?.includes(sha256Of(bytes))).map(([rel]) => rel)
}

const unsavedMessage = (rels: readonly string[]) => `made in this turn and not saved yet: ${nameSome(rels)}`

/**
 * The files in `files/` of the turn that can not be read, because they are hard links or can not be opened. The checkout replaces the whole
 * folder, so it would delete them. Files that a version of the turn would not contain are left out.
 */
function unreadFiles(skipped: readonly SkippedEntry[], kept: KeptFiles): readonly string[] {
  const isUnread = ({ path, reason }: SkippedEntry) => unreadReasons.has(reason) && kept.has(path)
  return skipped.filter(isUnread).map(({ path }) => path)
}

const unreadMessage = (rels: readonly string[]) =>
  `in the folder of this turn, and can not be kept because they are hard links or can not be opened: ${nameSome(rels)}`

function nameSome(rels: readonly string[]): string {
  const more = rels.length > 10 ? ` and ${rels.length - 10} more` : ''
  return `${rels.slice(0, 10).join(', ')}${more}`
}

interface SourceContents {
  readonly source: CheckoutSource
  readonly contents: Contents
  readonly stored: ReadonlyMap<string, StoredFile>
}

async function readSources(wanted: readonly CheckoutSource[], context: CheckoutContext) {
  const sources: SourceContents[] = []
  const problems: { source: CheckoutSource; message: string }[] = []
  for (const source of wanted) {
    const { stored, recorded, missing } = await findTurnFiles(source.turnId, { area: 'files', rel: source.rel }, context)
    const fetched = stored.size > 0 ? await context.versions.read(stored, context.history) : new Map<string, Uint8Array>()
    const lost = [...stored.keys()].filter((rel) => !fetched.has(rel))
    if (lost.length > 0) throw versionUnavailable(source.turnId, missingBytesMessage(lost))
    if (missing.length > 0) problems.push({ source, message: missingBytesMessage(missing) })
    else if (fetched.size + recorded.size === 0) problems.push({ source, message: 'that turn has no such files' })
    else sources.push({ source, contents: new Map([...fetched, ...recorded]), stored })
  }
  return { sources, problems }
}

/** The files in the new folder whose content the checkout took from a version, by path. */
function storedFilesOf(sources: readonly SourceContents[], folder: Contents): ReadonlyMap<string, StoredFile> {
  const found = new Map<string, StoredFile>()
  for (const { contents, stored } of sources) {
    for (const [rel, bytes] of contents) {
      const file = stored.get(rel)
      if (folder.get(rel) === bytes && file) found.set(rel, file)
    }
  }
  return found
}

const checkoutFailure = (
  code: (CheckoutOutcome & { ok: false })['code'],
  problems: readonly { source?: CheckoutSource; message: string }[],
): CheckoutResult => ({
  outcome: { ok: false, code, problems },
  storedFiles: new Map(),
})

/**
 * Combines layers of files. A file of a later layer replaces the file with the same path. If a path is a file in one layer and a folder in
 * another, the later layer decides what is at this path.
 */
function layerFiles(layers: readonly Contents[]): Map<string, Uint8Array> {
  const result = new Map<string, Uint8Array>()
  const folders = new Set<string>()
  for (const layer of layers.toReversed()) {
    const isFree = (path: string) => !result.has(path) && !folders.has(path) && !foldersAbove(path).some((folder) => result.has(folder))
    const added = [...layer].filter(([path]) => isFree(path))
    for (const [path, content] of added) {
      result.set(path, content)
      for (const folder of foldersAbove(path)) folders.add(folder)
    }
  }
  return new Map([...result].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Everything that a turn has checked out so far. It is stored on disk, so that another process can resume the turn. */
const CheckoutRecord = z.object({
  mode: z.enum(['replace', 'overlay']),
  from: z.array(z.object({ turnId: z.string(), rel: z.string() })),
  /**
   * The scopes that were checked out whole. In these scopes, the version of the turn has exactly the files of the turn. Records of
   * older versions of Daybook may have `true`, which is read as an empty list.
   */
  scopes: z.union([z.literal(true), z.array(z.string())]).transform((scopes) => (scopes === true ? [] : scopes)),
  /** Every path that a checkout put into the folder. If such a file is missing at the end of the turn, the turn has deleted it. */
  held: z.array(z.string()).default([]),
  /** The paths of files of this turn that a forced checkout in the mode `replace` has discarded. Publish treats them as never written. */
  undone: z.array(z.string()).default([]),
  /**
   * For each path, the hashes of the contents that a checkout put there, or was about to put there. Other content was written by the turn.
   */
  laid: z.array(z.tuple([z.string(), z.array(z.string())])).transform((entries): CheckoutHashes => new Map(entries)),
})
export type CheckoutRecord = z.infer<typeof CheckoutRecord>

type CheckoutHashes = ReadonlyMap<string, readonly string[]>

const recordPath = (turnId: string) => `workspace/${turnId}.json`

/**
 * The checkout record of a turn. Undefined when the turn has checked out nothing. Also undefined when the file is invalid, because programs
 * of the agent can overwrite it.
 */
export async function readCheckoutRecord(runtime: Files, turnId: string): Promise<CheckoutRecord | undefined> {
  const bytes = await runtime.read(recordPath(turnId))
  return bytes && CheckoutRecord.safeParse(parseJson(new TextDecoder().decode(bytes))).data
}

export async function removeCheckoutRecord(runtime: Files, turnId: string): Promise<void> {
  await runtime.remove(recordPath(turnId))
}

async function writeCheckoutRecord(runtime: Files, turnId: string, record: CheckoutRecord): Promise<void> {
  await runtime.write(recordPath(turnId), Buffer.from(JSON.stringify({ ...record, laid: [...record.laid] })))
}

function nextRecord(
  before: CheckoutRecord | undefined,
  { mode, sources: requested }: CheckoutRequest,
  sources: readonly SourceContents[],
  { laid, undone }: { readonly laid: Contents; readonly undone: readonly string[] },
): CheckoutRecord {
  const hashes: CheckoutHashes = new Map([...laid].map(([rel, bytes]) => [rel, [sha256Of(bytes)]]))
  const whole = sources.filter(({ source }) => isWholeScope(source)).flatMap(({ contents }) => [...contents.keys()].map(scopeOf))
  const earlier = mode === 'overlay' ? before : undefined
  return {
    mode,
    from: uniqueSources([...(earlier?.from ?? []), ...requested]),
    scopes: [...new Set([...(earlier?.scopes ?? []), ...whole])],
    held: [...new Set([...(before?.held ?? []), ...laid.keys()])],
    undone: [...new Set([...(before?.undone ?? []), ...undone])],
    laid: new Map([...(earlier?.laid ?? []), ...hashes]),
  }
}

/** Whether a source is a whole scope or a whole version. */
const isWholeScope = ({ rel }: CheckoutSource) => !rel.includes('/')

/**
 * The record while the folder is being replaced. If the process dies, the folder may be the old or the new one. Therefore this record has
 * the hashes of the old and of the new checked-out files.
 */
function pendingRecord(before: CheckoutRecord | undefined, next: CheckoutRecord): CheckoutRecord {
  const scopes = next.scopes.filter((scope) => before?.scopes.includes(scope))
  return { ...next, scopes, held: before?.held ?? [], undone: before?.undone ?? [], laid: mergeHashes(before?.laid, next.laid) }
}

function uniqueSources(sources: readonly CheckoutSource[]): CheckoutSource[] {
  return [...new Map(sources.map(({ turnId, rel }) => [`${turnId}/${rel}`, { turnId, rel }])).values()]
}

function mergeHashes(a: CheckoutHashes | undefined, b: CheckoutHashes): CheckoutHashes {
  const both = new Map(a)
  for (const [path, hashes] of b) both.set(path, [...new Set([...(both.get(path) ?? []), ...hashes])])
  return both
}
