import { Failure } from '../../core/failure.ts'
import { stripAbsolutePaths } from '../../core/path/places.ts'
import type { Files } from '../../ports/files.ts'
import type { CheckoutOutcome, CheckoutRequest, CheckoutSource, RecordedFiles } from '../../ports/workspace.ts'
import { type CheckoutHashes, type CheckoutRecord, readCheckoutRecord, sha256Of, writeCheckoutRecord } from './checkout-record.ts'
import { findTurnFiles } from './files.ts'
import { layerFiles } from './layers.ts'
import { isExcluded, scopeOf } from './names.ts'
import { filesFolder, listBelow, readFiles } from './turn-files.ts'
import type { StoredFile, VersionStore } from './versions.ts'

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
