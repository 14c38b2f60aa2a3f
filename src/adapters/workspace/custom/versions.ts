import { Failure } from '../../../core/failure.ts'
import { filePath } from '../../../core/path/build.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { RecordedFiles } from '../../../ports/workspace.ts'
import { sha256Of } from '../checkout-record.ts'
import { loadManifest, type Manifest } from '../manifest.ts'
import type { StoredFile, Version, VersionStore } from '../versions.ts'

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
