import { z } from 'zod'
import { isObject, parseJson } from '../../core/json.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { RecordedFiles } from '../../ports/workspace.ts'
import type { StoredFile, Version } from './versions.ts'

/**
 * What one publish changed, by path: `{ sha256, size }`, with `recorded` naming the turn whose own block holds the bytes, or
 * `{ deleted: true }`. Whatever it does not name is as in the version of `parent`. Without a parent it names everything.
 */
export interface Manifest {
  readonly parent?: string
  /** How many manifests lie below this one, and how many entries they name. */
  readonly depth: number
  readonly weight: number
  readonly files: ReadonlyMap<string, StoredFile | 'deleted'>
}

/** Reading a version takes as many looks into the journal as manifests lie below it. */
const MAX_DEPTH = 64

/** From here on it is kept as a blob. */
const MAX_INLINE_LENGTH = 8_000

/** The manifest that leads from one version to the next. Everything is named again when that is hardly more, or the way has become long. */
export function nextManifest(
  parent: { readonly turnId: string; readonly version: Version; readonly manifest: Manifest } | undefined,
  next: Version,
): Manifest {
  const whole = { depth: 0, weight: next.size, files: next }
  if (!parent) return whole
  const files = changesBetween(parent.version, next)
  const depth = parent.manifest.depth + 1
  const weight = parent.manifest.weight + files.size
  return depth > MAX_DEPTH || weight > 2 * next.size + 16 ? whole : { parent: parent.turnId, depth, weight, files }
}

export function changesBetween(before: Version, after: Version): ReadonlyMap<string, StoredFile | 'deleted'> {
  const changed = [...after].filter(([rel, { hash }]) => before.get(rel)?.hash !== hash)
  const deleted = [...before.keys()].filter((rel) => !after.has(rel)).map((rel) => [rel, 'deleted'] as const)
  return new Map<string, StoredFile | 'deleted'>([...changed, ...deleted])
}

/** As it stands in the block: as it is, or as a reference to a blob that the block keeps. */
export async function storeManifest(manifest: Manifest, blobs: Pick<BlobStore, 'put'>) {
  const text = manifestText(manifest)
  if (text.length <= MAX_INLINE_LENGTH) return { manifest: parseJson(text), keeps: [] }
  const blob = await blobs.put(Buffer.from(text))
  return { manifest: blob, keeps: [blob] }
}

function manifestText({ parent, depth, weight, files }: Manifest): string {
  const entries = [...files].map(([rel, kept]) => `${JSON.stringify(rel)}:${JSON.stringify(entryOf(kept))}`) // a path may be `__proto__`
  return `{${parent === undefined ? '' : `"parent":${JSON.stringify(parent)},`}"depth":${depth},"weight":${weight},"files":{${entries.join(',')}}}`
}

const entryOf = (kept: StoredFile | 'deleted') =>
  kept === 'deleted'
    ? { deleted: true }
    : { sha256: kept.hash, size: kept.size, ...(kept.recorded !== undefined && { recorded: kept.recorded }) }

const ManifestHead = z.object({
  parent: z.string().optional(),
  depth: z.number().int().nonnegative(),
  weight: z.number().int().nonnegative(),
})
const ManifestEntry = z.union([
  z.object({ deleted: z.literal(true) }),
  z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), size: z.number().int().nonnegative(), recorded: z.string().optional() }),
])
const ManifestReference = z.object({ sha256: z.string(), size: z.number() })

/** The manifest in the record that a turn left; undefined when there is none, or none that we could have written. */
export async function loadManifest(turnId: string, history: RecordedFiles, blobs: Pick<BlobStore, 'get'>): Promise<Manifest | undefined> {
  const record = await history.manifest(turnId)
  const given = isObject(record) && record.workspace_implementation === 'custom' ? record.manifest : undefined
  const reference = ManifestReference.safeParse(given)
  return parseManifest(reference.success ? parseJson(new TextDecoder().decode(await blobs.get(reference.data.sha256))) : given)
}

function parseManifest(value: unknown): Manifest | undefined {
  const head = ManifestHead.safeParse(value)
  if (!head.success || !isObject(value) || !isObject(value.files)) return undefined
  const files = new Map<string, StoredFile | 'deleted'>()
  for (const [rel, given] of Object.entries(value.files)) {
    const entry = ManifestEntry.safeParse(given)
    if (!entry.success || unsafeReason(rel) !== undefined) return undefined
    files.set(rel, 'deleted' in entry.data ? 'deleted' : storedFileOf(entry.data))
  }
  const { parent, depth, weight } = head.data
  return { ...(parent !== undefined && { parent }), depth, weight, files }
}

const storedFileOf = ({ sha256, size, recorded }: { sha256: string; size: number; recorded?: string | undefined }): StoredFile => ({
  hash: sha256,
  size,
  ...(recorded !== undefined && { recorded }),
})
