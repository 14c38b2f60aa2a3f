import { z } from 'zod'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { stripAbsolutePaths } from '../../core/secrets.ts'
import type { Files } from '../../ports/files.ts'
import type { CheckoutOutcome, CheckoutRequest, CheckoutSource, RecordedFiles } from '../../ports/workspace.ts'
import { filesFolder, findTurnFiles, listBelow, readFiles, type StoredFile, sha256Of, type VersionStore } from './files.ts'
import { findKeptFiles, type KeptFiles } from './kept-files.ts'
import { scopeOf } from './names.ts'

interface CheckoutContext {
  readonly versions: VersionStore
  readonly files: Files
  readonly runtime: Files
  readonly history: RecordedFiles
}

export interface CheckoutResult {
  readonly outcome: CheckoutOutcome
  /** The files in the folder whose content is that of a version, by path. */
  readonly storedFiles: ReadonlyMap<string, StoredFile>
}

/** The bytes of files, by path below `files/`. */
type Contents = ReadonlyMap<string, Uint8Array>

/**
 * Copies the requested sources into `files/` of the turn. Every source is read before anything changes. Then the hashes of the new files are
 * recorded, and the folder is replaced in one step. If the process dies, the folder is the old or the new one, and the record tells which
 * files a checkout put there and which the turn wrote.
 */
export async function checkout(turnId: string, request: CheckoutRequest, context: CheckoutContext): Promise<CheckoutResult> {
  try {
    return await performCheckout(turnId, request, context)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return checkoutFailure('failed', [{ message: stripAbsolutePaths(error.message) }])
  }
}

async function performCheckout(turnId: string, request: CheckoutRequest, context: CheckoutContext): Promise<CheckoutResult> {
  const { files, runtime } = context
  const folder = filesFolder(turnId)
  const before = await readCheckoutRecord(runtime, turnId)
  const current = await readFiles(files, folder, [...(await listBelow(files, folder)).keys()])
  const kept = await findKeptFiles(turnId, context.history, before)
  const unsaved = request.mode === 'replace' && !request.force ? unsavedFiles(current, before, kept) : []
  if (unsaved.length > 0) return checkoutFailure('nonempty', [{ message: unsavedMessage(unsaved) }])

  const { sources, problems } = await readSources(request.sources, context)
  if (problems.length > 0) return checkoutFailure('missing', problems)
  const layers = sources.map(({ contents }) => contents)
  const contents = layerFiles(request.mode === 'overlay' ? [current, ...layers] : layers)
  const record = nextRecord(before, request, layerFiles(layers))
  await writeCheckoutRecord(runtime, turnId, { ...record, laid: mergeHashes(before?.laid, record.laid) })
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

/** The files that a tool or a program wrote in this turn. They are in no version yet. */
function unsavedFiles(current: Contents, record: CheckoutRecord | undefined, kept: KeptFiles): readonly string[] {
  return [...current].filter(([rel, bytes]) => kept.has(rel) && !record?.laid.get(rel)?.includes(sha256Of(bytes))).map(([rel]) => rel)
}

function unsavedMessage(rels: readonly string[]): string {
  const more = rels.length > 10 ? ` and ${rels.length - 10} more` : ''
  return `made in this turn and not saved yet: ${rels.slice(0, 10).join(', ')}${more}`
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
    const lost = [...missing, ...[...stored.keys()].filter((rel) => !fetched.has(rel))]
    if (lost.length > 0) problems.push({ source, message: `the bytes of ${lost.slice(0, 10).join(', ')} are nowhere to be found` })
    else if (fetched.size + recorded.size === 0) problems.push({ source, message: 'that turn has no such files' })
    else sources.push({ source, contents: new Map([...fetched, ...recorded]), stored })
  }
  return { sources, problems }
}

/** The files of the folder whose content comes from a version, by path. */
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
  code: 'missing' | 'nonempty' | 'failed',
  problems: readonly { source?: CheckoutSource; message: string }[],
): CheckoutResult => ({
  outcome: { ok: false, code, problems },
  storedFiles: new Map(),
})

/**
 * Combines layers of files. Files of later layers replace those of earlier ones. Where a path is a file in one layer and a folder in
 * another, only the later layer stays.
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

function foldersAbove(path: string): readonly string[] {
  const segments = path.split('/')
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'))
}

/** Everything that a turn has checked out so far. It is stored on disk, so that another process can resume the turn. */
const CheckoutRecord = z.object({
  mode: z.enum(['replace', 'overlay']),
  from: z.array(z.object({ turnId: z.string(), rel: z.string() })),
  /** The scopes that the turn's version replaces, even if the turn has deleted all their files. `true` means all scopes. */
  scopes: z.union([z.literal(true), z.array(z.string())]),
  /** For each path, the hashes of the files that a checkout put there or was about to put there. Other content was written by the turn. */
  laid: z.array(z.tuple([z.string(), z.array(z.string())])).transform((entries): CheckoutHashes => new Map(entries)),
})
export type CheckoutRecord = z.infer<typeof CheckoutRecord>

type CheckoutHashes = ReadonlyMap<string, readonly string[]>

const recordPath = (turnId: string) => `workspace/${turnId}.json`

/**
 * The checkout record of a turn. Undefined when the turn has checked out nothing, and when the file is invalid: programs of the agent can
 * write to it.
 */
export async function readCheckoutRecord(runtime: Files, turnId: string): Promise<CheckoutRecord | undefined> {
  const bytes = await runtime.read(recordPath(turnId))
  return bytes && CheckoutRecord.safeParse(parseJson(new TextDecoder().decode(bytes))).data
}

async function writeCheckoutRecord(runtime: Files, turnId: string, record: CheckoutRecord): Promise<void> {
  await runtime.write(recordPath(turnId), Buffer.from(JSON.stringify({ ...record, laid: [...record.laid] })))
}

function nextRecord(before: CheckoutRecord | undefined, { mode, sources }: CheckoutRequest, contents: Contents): CheckoutRecord {
  const hashes: CheckoutHashes = new Map([...contents].map(([rel, bytes]) => [rel, [sha256Of(bytes)]]))
  const replacesAll = mode === 'replace' && sources.some(({ rel }) => rel === '')
  const named = sources.flatMap(({ rel }) => (rel === '' ? [] : [scopeOf(rel)]))
  const earlier = before?.scopes ?? [] // a replace removes their files
  const scopes = replacesAll || earlier === true ? true : [...new Set([...earlier, ...named, ...[...contents.keys()].map(scopeOf)])]
  if (mode === 'replace' || !before) return { mode, from: uniqueSources(sources), scopes, laid: hashes }
  return { mode, from: uniqueSources([...before.from, ...sources]), scopes, laid: new Map([...before.laid, ...hashes]) }
}

function uniqueSources(sources: readonly CheckoutSource[]): CheckoutSource[] {
  return [...new Map(sources.map(({ turnId, rel }) => [`${turnId}/${rel}`, { turnId, rel }])).values()]
}

function mergeHashes(a: CheckoutHashes | undefined, b: CheckoutHashes): CheckoutHashes {
  const both = new Map(a)
  for (const [path, hashes] of b) both.set(path, [...new Set([...(both.get(path) ?? []), ...hashes])])
  return both
}
