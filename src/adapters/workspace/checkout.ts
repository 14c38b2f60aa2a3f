import { Failure } from '../../core/failure.ts'
import { withoutPlaces } from '../../core/path/places.ts'
import type { Files } from '../../ports/files.ts'
import type { CheckoutOutcome, CheckoutRequest, CheckoutSource, History } from '../../ports/workspace.ts'
import { type CheckoutRecord, type Laid, readCheckoutRecord, sha256Of, writeCheckoutRecord } from './checkout-record.ts'
import { findFiles } from './find-files.ts'
import { layered } from './layers.ts'
import { isExcluded, scopeOf } from './names.ts'
import { filesBelow, filesFolder, readAll } from './turn-files.ts'
import type { Kept, Versions } from './versions.ts'

export interface CheckoutParts {
  readonly versions: Versions
  readonly files: Files
  readonly runtime: Files
  readonly history: History
}

/** What came of a checkout, and which of the files it put there the workspace keeps under a hash. */
export interface CheckedOut {
  readonly outcome: CheckoutOutcome
  readonly kept: ReadonlyMap<string, Kept>
}

type Contents = ReadonlyMap<string, Uint8Array>

/**
 * Reads every source before anything changes, then swaps the folder as a whole. What is about to be put there is written down first: a
 * process that dies in between leaves the old folder or the new, and in both nothing that a checkout put is taken for the turn's work.
 */
export async function checkout(turnId: string, request: CheckoutRequest, parts: CheckoutParts): Promise<CheckedOut> {
  try {
    return await layOut(turnId, request, parts)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return refused('failed', [{ message: withoutPlaces(error.message) }])
  }
}

async function layOut(turnId: string, request: CheckoutRequest, parts: CheckoutParts): Promise<CheckedOut> {
  const folder = filesFolder(turnId)
  const before = await readCheckoutRecord(parts.runtime, turnId)
  const current = await contentsOf(parts.files, folder)
  const own = request.mode === 'replace' && !request.force ? unsaved(current, before) : []
  if (own.length > 0) return refused('nonempty', [{ message: unsavedMessage(own) }])

  const read = await readSources(request.sources, parts)
  if (read.problems.length > 0) return refused('missing', read.problems)
  const layers = read.sources.map(({ contents }) => contents)
  const contents = layered(request.mode === 'overlay' ? [current, ...layers] : layers)
  const laid = layered(layers)
  const record = nextRecord(before, request, laid)
  await writeCheckoutRecord(parts.runtime, turnId, { ...record, laid: merged(before?.laid, record.laid) })
  await parts.files.replaceFolder(folder, contents)
  await writeCheckoutRecord(parts.runtime, turnId, record)
  const outcome: CheckoutOutcome = {
    ok: true,
    checkedOut: read.sources.map(({ source, contents: { size } }) => ({ source, files: size })),
    checkedOutFrom: record.from,
    files: [...contents.keys()],
  }
  return { outcome, kept: standing(read.sources, contents) }
}

interface ReadSource {
  readonly source: CheckoutSource
  readonly contents: Contents
  readonly kept: ReadonlyMap<string, Kept>
}

async function readSources(sources: readonly CheckoutSource[], parts: CheckoutParts) {
  const read: ReadSource[] = []
  const problems: { source: CheckoutSource; message: string }[] = []
  for (const source of sources) {
    const { kept, recorded, lost } = await findFiles(source.turnId, { area: 'files', rel: source.rel }, parts)
    const fetched = kept.size > 0 ? await parts.versions.read(kept, parts.history) : new Map<string, Uint8Array>()
    const gone = [...lost, ...[...kept.keys()].filter((rel) => !fetched.has(rel))]
    if (gone.length > 0) problems.push({ source, message: `the bytes of ${gone.slice(0, 10).join(', ')} are nowhere to be found` })
    else if (fetched.size + recorded.size === 0) problems.push({ source, message: 'that turn has no such files' })
    else read.push({ source, contents: new Map([...fetched, ...recorded]), kept })
  }
  return { sources: read, problems }
}

async function contentsOf(files: Files, folder: string): Promise<Contents> {
  return readAll(files, folder, [...(await filesBelow(files, folder)).keys()])
}

/** Made in this turn by a tool or a program, and saved nowhere. */
function unsaved(current: Contents, before: CheckoutRecord | undefined): readonly string[] {
  return [...current].filter(([rel, bytes]) => !isExcluded(rel) && !before?.laid.get(rel)?.includes(sha256Of(bytes))).map(([rel]) => rel)
}

function nextRecord(before: CheckoutRecord | undefined, { mode, sources }: CheckoutRequest, laid: Contents): CheckoutRecord {
  const hashes: Laid = new Map([...laid].map(([rel, bytes]) => [rel, [sha256Of(bytes)]]))
  const whole = mode === 'replace' && sources.some(({ rel }) => rel === '')
  const named = sources.flatMap(({ rel }) => (rel === '' ? [] : [scopeOf(rel)]))
  const earlier = before?.scopes ?? [] // also of what a replace takes away: the turn had it, and now has it no more
  const scopes = whole || earlier === true ? true : [...new Set([...earlier, ...named, ...[...laid.keys()].map(scopeOf)])]
  if (mode === 'replace' || !before) return { mode, from: unique(sources), scopes, laid: hashes }
  return { mode, from: unique([...before.from, ...sources]), scopes, laid: new Map([...before.laid, ...hashes]) }
}

function unique(sources: readonly CheckoutSource[]): CheckoutSource[] {
  return [...new Map(sources.map(({ turnId, rel }) => [`${turnId}/${rel}`, { turnId, rel }])).values()]
}

function merged(a: Laid | undefined, b: Laid): Laid {
  const both = new Map(a)
  for (const [path, hashes] of b) both.set(path, [...new Set([...(both.get(path) ?? []), ...hashes])])
  return both
}

/** Of what the folder holds now, that which lies there as a version has it. */
function standing(sources: readonly ReadSource[], contents: Contents): ReadonlyMap<string, Kept> {
  const top = new Map<string, Kept>()
  for (const { contents: own, kept } of sources) {
    for (const [rel, bytes] of own) {
      const how = kept.get(rel)
      if (contents.get(rel) === bytes && how) top.set(rel, how)
    }
  }
  return top
}

const refused = (
  code: 'missing' | 'nonempty' | 'failed',
  problems: readonly { source?: CheckoutSource; message: string }[],
): CheckedOut => ({
  outcome: { ok: false, code, problems },
  kept: new Map(),
})

function unsavedMessage(own: readonly string[]): string {
  const more = own.length > 10 ? ` and ${own.length - 10} more` : ''
  return `made in this turn and not saved yet: ${own.slice(0, 10).join(', ')}${more}`
}
