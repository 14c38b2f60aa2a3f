import { z } from 'zod'
import { Failure } from '../../../core/failure.ts'
import { isObject, parseJson } from '../../../core/json.ts'
import { filePath } from '../../../core/path/build.ts'
import { unsafeReason } from '../../../core/path/safety.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { RecordedFiles } from '../../../ports/workspace.ts'
import { type StoredFile, sha256Of, type Version, type VersionStore, versionUnavailable } from '../files.ts'

export interface CustomVersions extends VersionStore {
  /** The version of a turn with its manifest. Undefined when the turn published no version. */
  load(turnId: string, history: RecordedFiles): Promise<LoadedVersion | undefined>
}

interface LoadedVersion {
  readonly version: Version
  readonly manifest: Manifest
}

/** How many versions are cached in memory. A turn seldom reads more versions than this. */
const MAX_CACHED_VERSIONS = 8

/**
 * The versions in the journal. The publish block of each turn contains a manifest. The bytes of files are in blobs or in blocks of tools.
 */
export function createCustomVersions(blobs: Pick<BlobStore, 'get'>): CustomVersions {
  const cache = new Map<string, LoadedVersion>()

  async function load(turnId: string, history: RecordedFiles) {
    const cached = cache.get(turnId)
    if (cached) return cached
    const loaded = await loadVersion(turnId, history, blobs)
    if (!loaded) return undefined
    cache.set(turnId, loaded)
    const oldest = cache.size > MAX_CACHED_VERSIONS ? cache.keys().next().value : undefined
    if (oldest !== undefined) cache.delete(oldest)
    return loaded
  }

  return {
    load,
    find: async (turnId, history) => (await load(turnId, history))?.version,
    isContent: ({ hash }, bytes) => hash === sha256Of(bytes),
    async read(files, history) {
      const contents = new Map<string, Uint8Array>()
      const getKept = createKeptReader(history, blobs)
      for (const [rel, file] of files) {
        const bytes = await readStoredFile(rel, file, history, getKept)
        if (bytes) contents.set(rel, bytes)
      }
      return contents
    },
  }
}

/**
 * Loads a version with its manifest. Throws `versionUnavailable` when this manifest, or another manifest in its chain of parents, is
 * missing.
 */
async function loadVersion(turnId: string, history: RecordedFiles, blobs: Pick<BlobStore, 'get'>): Promise<LoadedVersion | undefined> {
  try {
    const manifest = await loadManifest(turnId, history, blobs)
    return manifest && { manifest, version: await versionFromManifest(manifest, history, blobs) }
  } catch (error) {
    if (error instanceof Failure) throw versionUnavailable(turnId, error.message, error)
    throw error
  }
}

/**
 * The version that a manifest describes. The oldest manifest in its chain of parents lists every file. The changes in the later manifests
 * are applied to this list, the oldest first.
 */
async function versionFromManifest(top: Manifest, history: RecordedFiles, blobs: Pick<BlobStore, 'get'>): Promise<Version> {
  const manifests = [top]
  const seen = new Set<string>()
  for (let parent = top.parent; parent !== undefined; parent = manifests.at(-1)?.parent) {
    const manifest = seen.has(parent) ? undefined : await loadManifest(parent, history, blobs)
    if (!manifest)
      throw new Failure('workspace.failed', `the manifest of ${parent} is gone, so later versions that are based on it can not be read`)
    seen.add(parent)
    manifests.push(manifest)
  }
  const version = new Map<string, StoredFile>()
  for (const { files } of manifests.reverse()) {
    for (const [rel, file] of files) {
      if (file === 'deleted') version.delete(rel)
      else version.set(rel, file)
    }
  }
  return new Map([...version].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * The bytes of a file. They are taken from a block if its bytes match the hash in the manifest, otherwise from a blob of a publish block.
 */
async function readStoredFile(rel: string, { hash, recorded, keptBy }: StoredFile, history: RecordedFiles, getKept: KeptReader) {
  const fromBlock = recorded === undefined ? undefined : await history.bytes(filePath(recorded, 'files', rel))
  if (fromBlock && sha256Of(fromBlock) === hash) return fromBlock
  return keptBy === undefined ? undefined : getKept(keptBy, hash)
}

/**
 * Reads a blob to which the publish block of a turn refers. Undefined when the block does not refer to the blob, or when the blob is
 * missing.
 */
type KeptReader = (turnId: string, sha256: string) => Promise<Uint8Array | undefined>

/**
 * Creates a reader that only reads blobs to which a publish block refers. An imported manifest could contain the hash of a blob of another
 * conversation, and its content must not be read. The journal is read only once for each turn.
 */
function createKeptReader(history: RecordedFiles, blobs: Pick<BlobStore, 'get'>): KeptReader {
  const kept = new Map<string, Promise<ReadonlySet<string>>>()
  return async (turnId, sha256) => {
    const hashes = kept.get(turnId) ?? history.keeps(turnId)
    kept.set(turnId, hashes)
    if (!(await hashes).has(sha256)) return undefined
    try {
      return await blobs.get(sha256)
    } catch (error) {
      if (error instanceof Failure && error.code === 'blob.missing') return undefined
      throw error
    }
  }
}

/**
 * The files that one publish changed, by path. All other files are the same as in the version of the turn `parent`. A manifest without a
 * parent lists every file.
 */
export interface Manifest {
  readonly parent?: string
  /** The length of the chain of parents. 0 for a manifest without a parent. */
  readonly depth: number
  /** The number of entries in this manifest and all manifests in its chain of parents. */
  readonly weight: number
  readonly files: ReadonlyMap<string, StoredFile | 'deleted'>
}

/** The maximum length of a chain of manifests. To read a version, the journal is read once for each manifest in its chain. */
const MAX_DEPTH = 64

/** The length in characters above which a manifest is stored as a blob. */
const MAX_INLINE_LENGTH = 8_000

/**
 * The manifest of a new version. Usually it lists only the files that differ from the parent. It lists every file and has no parent if the
 * chain of parents would be longer than `MAX_DEPTH`, or if the chain would have more than about twice as many entries as the version has
 * files.
 */
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

/** The manifest as the publish block contains it. A long manifest is stored as a blob, and the block contains a reference to the blob. */
export async function storeManifest(manifest: Manifest, blobs: Pick<BlobStore, 'put'>) {
  const text = manifestText(manifest)
  if (text.length <= MAX_INLINE_LENGTH) return { manifest: parseJson(text), keeps: [] }
  const blob = await blobs.put(Buffer.from(text))
  return { manifest: blob, keeps: [blob] }
}

function manifestText({ parent, depth, weight, files }: Manifest): string {
  // written as text, because in an object the path `__proto__` would be lost
  const entries = [...files].map(([rel, file]) => `${JSON.stringify(rel)}:${JSON.stringify(entryOf(file))}`)
  return `{${parent === undefined ? '' : `"parent":${JSON.stringify(parent)},`}"depth":${depth},"weight":${weight},"files":{${entries.join(',')}}}`
}

const entryOf = (file: StoredFile | 'deleted') =>
  file === 'deleted'
    ? { deleted: true }
    : { sha256: file.hash, size: file.size, ...(file.recorded !== undefined && { recorded: file.recorded }) }

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

/**
 * The manifest in the publish record of a turn. Undefined when the record has no manifest, or when the manifest does not have the form that
 * `storeManifest` writes.
 */
async function loadManifest(turnId: string, history: RecordedFiles, blobs: Pick<BlobStore, 'get'>): Promise<Manifest | undefined> {
  const record = await history.manifest(turnId)
  const given = isObject(record) && record.workspace_implementation === 'custom' ? record.manifest : undefined
  const reference = ManifestReference.safeParse(given)
  if (!reference.success) return parseManifest(given, turnId)
  const bytes = await createKeptReader(history, blobs)(turnId, reference.data.sha256)
  if (!bytes) throw new Failure('workspace.failed', `the manifest of ${turnId} is gone`)
  return parseManifest(parseJson(new TextDecoder().decode(bytes)), turnId)
}

function parseManifest(value: unknown, turnId: string): Manifest | undefined {
  const head = ManifestHead.safeParse(value)
  if (!head.success || !isObject(value) || !isObject(value.files)) return undefined
  const files = new Map<string, StoredFile | 'deleted'>()
  for (const [rel, given] of Object.entries(value.files)) {
    const entry = ManifestEntry.safeParse(given)
    if (!entry.success || unsafeReason(rel) !== undefined) return undefined
    files.set(rel, 'deleted' in entry.data ? 'deleted' : storedFileOf(entry.data, turnId))
  }
  const { parent, depth, weight } = head.data
  return { ...(parent !== undefined && { parent }), depth, weight, files }
}

const storedFileOf = (entry: { sha256: string; size: number; recorded?: string | undefined }, keptBy: string): StoredFile => ({
  hash: entry.sha256,
  size: entry.size,
  ...(entry.recorded !== undefined && { recorded: entry.recorded }),
  keptBy,
})
