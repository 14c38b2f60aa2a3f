import { z } from 'zod'
import { Failure } from '../../../core/failure.ts'
import { isObject, parseJson } from '../../../core/json.ts'
import { filePath } from '../../../core/path/build.ts'
import { unsafeReason } from '../../../core/path/safety.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { RecordedFiles } from '../../../ports/workspace.ts'
import { sha256Of } from '../checkout.ts'
import type { StoredFile, Version, VersionStore } from '../files.ts'

export interface CustomVersions extends VersionStore {
  /** The version of a turn, and the manifest that leads to it. */
  load(turnId: string, history: RecordedFiles): Promise<{ readonly version: Version; readonly manifest: Manifest } | undefined>
}

/** Looked up this often, a version need not be put together again; more than these are seldom wanted in one turn. */
const MAX_CACHED_VERSIONS = 8

/** Versions as the journal has them: a manifest in each turn's publish block, bytes in blobs or in the blocks that wrote them. */
export function createCustomVersions(blobs: Pick<BlobStore, 'get'>): CustomVersions {
  const remembered = new Map<string, { version: Version; manifest: Manifest }>()

  async function look(turnId: string, history: RecordedFiles) {
    const known = remembered.get(turnId)
    if (known) return known
    const manifest = await loadManifest(turnId, history, blobs)
    const found = manifest && { manifest, version: await versionFromManifest(manifest, history, blobs) }
    if (found) remember(turnId, found)
    return found
  }

  function remember(turnId: string, found: { version: Version; manifest: Manifest }): void {
    remembered.set(turnId, found)
    const oldest = remembered.size > MAX_CACHED_VERSIONS ? remembered.keys().next().value : undefined
    if (oldest !== undefined) remembered.delete(oldest)
  }

  return {
    load: look,
    find: async (turnId, history) => (await look(turnId, history))?.version,
    hashOf: sha256Of,
    async read(files, history) {
      const found = new Map<string, Uint8Array>()
      for (const [rel, kept] of files) {
        const bytes = await readStoredFile(rel, kept, history, blobs)
        if (bytes) found.set(rel, bytes)
      }
      return found
    },
  }
}

/** From the manifest that names everything up to this one. */
async function versionFromManifest(top: Manifest, history: RecordedFiles, blobs: Pick<BlobStore, 'get'>): Promise<Version> {
  const manifests = [top]
  const seen = new Set<string>()
  for (let parent = top.parent; parent !== undefined; parent = manifests.at(-1)?.parent) {
    const manifest = seen.has(parent) ? undefined : await loadManifest(parent, history, blobs)
    if (!manifest) throw new Failure('workspace.failed', `the manifest of ${parent} is gone, and with it what later versions took from it`)
    seen.add(parent)
    manifests.push(manifest)
  }
  const version = new Map<string, StoredFile>()
  for (const { files } of manifests.reverse()) {
    for (const [rel, kept] of files) {
      if (kept === 'deleted') version.delete(rel)
      else version.set(rel, kept)
    }
  }
  return new Map([...version].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** What a turn's own block holds is believed only when it is what the manifest says. */
async function readStoredFile(rel: string, { hash, recorded }: StoredFile, history: RecordedFiles, blobs: Pick<BlobStore, 'get'>) {
  const own = recorded === undefined ? undefined : await history.bytes(filePath(recorded, 'files', rel))
  if (own && sha256Of(own) === hash) return own
  try {
    return await blobs.get(hash)
  } catch (error) {
    if (error instanceof Failure && error.code === 'blob.missing') return undefined
    throw error
  }
}

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
