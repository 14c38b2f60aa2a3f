import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Failure } from '../../core/failure.ts'
import { parseJson } from '../../core/json.ts'
import { stripAbsolutePaths } from '../../core/secrets.ts'
import type { Files } from '../../ports/files.ts'
import type { CheckoutOutcome, CheckoutRequest, CheckoutSource, RecordedFiles } from '../../ports/workspace.ts'
import { filesFolder, findTurnFiles, listBelow, readFiles, type StoredFile, type VersionStore } from './files.ts'
import { isExcluded, scopeOf } from './names.ts'

export interface CheckoutContext {
  readonly versions: VersionStore
  readonly files: Files
  readonly runtime: Files
  readonly history: RecordedFiles
}

/** What came of a checkout, and which of the files it put there the workspace keeps under a hash. */
export interface CheckoutResult {
  readonly outcome: CheckoutOutcome
  readonly storedFiles: ReadonlyMap<string, StoredFile>
}

type Contents = ReadonlyMap<string, Uint8Array>

/**
 * Reads every source before anything changes, then swaps the folder as a whole. What is about to be put there is written down first: a
 * process that dies in between leaves the old folder or the new, and in both nothing that a checkout put is taken for the turn's work.
 */
export async function checkout(turnId: string, request: CheckoutRequest, parts: CheckoutContext): Promise<CheckoutResult> {
  try {
    return await performCheckout(turnId, request, parts)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return checkoutFailure('failed', [{ message: stripAbsolutePaths(error.message) }])
  }
}

async function performCheckout(turnId: string, request: CheckoutRequest, parts: CheckoutContext): Promise<CheckoutResult> {
  const folder = filesFolder(turnId)
  const before = await readCheckoutRecord(parts.runtime, turnId)
  const current = await contentsOf(parts.files, folder)
  const own = request.mode === 'replace' && !request.force ? unsavedFiles(current, before) : []
  if (own.length > 0) return checkoutFailure('nonempty', [{ message: unsavedMessage(own) }])

  const read = await readSources(request.sources, parts)
  if (read.problems.length > 0) return checkoutFailure('missing', read.problems)
  const layers = read.sources.map(({ contents }) => contents)
  const contents = layerFiles(request.mode === 'overlay' ? [current, ...layers] : layers)
  const laid = layerFiles(layers)
  const record = nextRecord(before, request, laid)
  await writeCheckoutRecord(parts.runtime, turnId, { ...record, laid: mergeHashes(before?.laid, record.laid) })
  await parts.files.replaceFolder(folder, contents)
  await writeCheckoutRecord(parts.runtime, turnId, record)
  const outcome: CheckoutOutcome = {
    ok: true,
    checkedOut: read.sources.map(({ source, contents: { size } }) => ({ source, files: size })),
    checkedOutFrom: record.from,
    files: [...contents.keys()],
  }
  return { outcome, storedFiles: storedFilesOf(read.sources, contents) }
}

interface ReadSource {
  readonly source: CheckoutSource
  readonly contents: Contents
  readonly kept: ReadonlyMap<string, StoredFile>
}

async function readSources(sources: readonly CheckoutSource[], parts: CheckoutContext) {
  const read: ReadSource[] = []
  const problems: { source: CheckoutSource; message: string }[] = []
  for (const source of sources) {
    const { stored: kept, recorded, missing: lost } = await findTurnFiles(source.turnId, { area: 'files', rel: source.rel }, parts)
    const fetched = kept.size > 0 ? await parts.versions.read(kept, parts.history) : new Map<string, Uint8Array>()
    const gone = [...lost, ...[...kept.keys()].filter((rel) => !fetched.has(rel))]
    if (gone.length > 0) problems.push({ source, message: `the bytes of ${gone.slice(0, 10).join(', ')} are nowhere to be found` })
    else if (fetched.size + recorded.size === 0) problems.push({ source, message: 'that turn has no such files' })
    else read.push({ source, contents: new Map([...fetched, ...recorded]), kept })
  }
  return { sources: read, problems }
}

async function contentsOf(files: Files, folder: string): Promise<Contents> {
  return readFiles(files, folder, [...(await listBelow(files, folder)).keys()])
}

/** Made in this turn by a tool or a program, and saved nowhere. */
function unsavedFiles(current: Contents, before: CheckoutRecord | undefined): readonly string[] {
  return [...current].filter(([rel, bytes]) => !isExcluded(rel) && !before?.laid.get(rel)?.includes(sha256Of(bytes))).map(([rel]) => rel)
}

function nextRecord(before: CheckoutRecord | undefined, { mode, sources }: CheckoutRequest, laid: Contents): CheckoutRecord {
  const hashes: CheckoutHashes = new Map([...laid].map(([rel, bytes]) => [rel, [sha256Of(bytes)]]))
  const whole = mode === 'replace' && sources.some(({ rel }) => rel === '')
  const named = sources.flatMap(({ rel }) => (rel === '' ? [] : [scopeOf(rel)]))
  const earlier = before?.scopes ?? [] // also of what a replace takes away: the turn had it, and now has it no more
  const scopes = whole || earlier === true ? true : [...new Set([...earlier, ...named, ...[...laid.keys()].map(scopeOf)])]
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

/** Of what the folder holds now, that which lies there as a version has it. */
function storedFilesOf(sources: readonly ReadSource[], contents: Contents): ReadonlyMap<string, StoredFile> {
  const top = new Map<string, StoredFile>()
  for (const { contents: own, kept } of sources) {
    for (const [rel, bytes] of own) {
      const how = kept.get(rel)
      if (contents.get(rel) === bytes && how) top.set(rel, how)
    }
  }
  return top
}

const checkoutFailure = (
  code: 'missing' | 'nonempty' | 'failed',
  problems: readonly { source?: CheckoutSource; message: string }[],
): CheckoutResult => ({
  outcome: { ok: false, code, problems },
  storedFiles: new Map(),
})

function unsavedMessage(own: readonly string[]): string {
  const more = own.length > 10 ? ` and ${own.length - 10} more` : ''
  return `made in this turn and not saved yet: ${own.slice(0, 10).join(', ')}${more}`
}

/** What a turn has checked out so far. Kept beside OUT_DIR, so that a process that takes up the turn knows it, too. */
const CheckoutRecord = z.object({
  mode: z.enum(['replace', 'overlay']),
  from: z.array(z.object({ turnId: z.string(), rel: z.string() })),
  /** Scopes that the turn answers for, even when nothing is left of them. `true`: all of them. */
  scopes: z.union([z.literal(true), z.array(z.string())]),
  /** Hashes of what a checkout put, or was about to put, at each path: anything else there is the turn's own work. */
  laid: z.array(z.tuple([z.string(), z.array(z.string())])).transform((entries): CheckoutHashes => new Map(entries)),
})
export type CheckoutRecord = z.infer<typeof CheckoutRecord>

export type CheckoutHashes = ReadonlyMap<string, readonly string[]>

const recordPath = (turnId: string) => `workspace/${turnId}.json`

export async function readCheckoutRecord(runtime: Files, turnId: string): Promise<CheckoutRecord | undefined> {
  const bytes = await runtime.read(recordPath(turnId))
  if (!bytes) return undefined
  const read = CheckoutRecord.safeParse(parseJson(new TextDecoder().decode(bytes)))
  return read.success ? read.data : undefined // programs of the agent's may reach it: what is no record of ours says nothing
}

export async function writeCheckoutRecord(runtime: Files, turnId: string, record: CheckoutRecord): Promise<void> {
  await runtime.write(recordPath(turnId), Buffer.from(JSON.stringify({ ...record, laid: [...record.laid] })))
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** True for a scope that the turn answers for besides those that it has files in. */
export function isCheckedOutScope(record: CheckoutRecord | undefined, rel: string): boolean {
  return record !== undefined && (record.scopes === true || record.scopes.includes(scopeOf(rel)))
}

/**
 * Files laid over each other, the last on top. Where one is a file and another a folder of the same name, the one on top stands: below it
 * nothing is left of the other.
 */
export function layerFiles<T>(layers: readonly ReadonlyMap<string, T>[]): Map<string, T> {
  const standing = new Map<string, T>()
  const folders = new Set<string>()
  for (const layer of layers.toReversed()) {
    const added: [string, T][] = []
    for (const [path, content] of layer) {
      if (!standing.has(path) && !folders.has(path) && !foldersAbove(path).some((folder) => standing.has(folder)))
        added.push([path, content])
    }
    for (const [path, content] of added) {
      standing.set(path, content)
      for (const folder of foldersAbove(path)) folders.add(folder)
    }
  }
  return new Map([...standing].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function foldersAbove(path: string): readonly string[] {
  const segments = path.split('/')
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'))
}
