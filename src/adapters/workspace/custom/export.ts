import type { BlobRef } from '../../../core/block/index.ts'
import { isObject } from '../../../core/json.ts'
import type { ExportedVersion, RecordedFiles, Workspace } from '../../../ports/workspace.ts'
import { type StoredFile, type Version, type VersionStore, versionUnavailable } from '../files.ts'
import { missingBytesMessage } from '../hydrate.ts'
import { type Manifest, nextManifest, storeManifest } from './versions.ts'

type Put = Parameters<Workspace['exportVersions']>[2]

/**
 * Makes manifests for versions that are stored in another way, such as git commits. The parent of each manifest is the manifest of the
 * previous version. Versions that already have a manifest in the journal are skipped.
 */
export async function exportVersions(turnIds: readonly string[], versions: VersionStore, history: RecordedFiles, put: Put) {
  const exported = new Map<string, ExportedVersion>()
  const refs = new Map<string, BlobRef>() // blobs by the hash of the file in `versions`
  let parent: { readonly turnId: string; readonly version: Version; readonly manifest: Manifest } | undefined
  for (const turnId of turnIds) {
    const stored = hasManifest(await history.manifest(turnId)) ? undefined : await versions.find(turnId, history)
    if (!stored) continue
    await putFiles(turnId, stored, refs, { versions, history, put })
    // `refs` has every hash, because `putFiles` has put all files of the version
    const version = new Map([...stored].map(([rel, file]) => [rel, storedAs(refs.get(file.hash) as BlobRef)]))
    const manifest = nextManifest(parent, version)
    const { manifest: written, keeps } = await storeManifest(manifest, { put })
    const named = [...manifest.files.values()].flatMap((file) => (file === 'deleted' ? [] : [{ sha256: file.hash, size: file.size }]))
    exported.set(turnId, {
      fields: { workspace_implementation: 'custom', files: version.size, manifest: written },
      keeps: [...new Map([...keeps, ...named].map((ref) => [ref.sha256, ref])).values()],
    })
    parent = { turnId, version, manifest }
  }
  return exported
}

/** Whether the record of a publish says that its version is a manifest in the journal. */
export const hasManifest = (record: unknown): boolean => isObject(record) && record.workspace_implementation === 'custom'

const storedAs = ({ sha256, size }: BlobRef): StoredFile => ({ hash: sha256, size })

interface PutContext {
  readonly versions: VersionStore
  readonly history: RecordedFiles
  readonly put: Put
}

/** Puts the bytes of files that are not in `refs` yet, and adds them to `refs`. */
async function putFiles(
  turnId: string,
  version: Version,
  refs: Map<string, BlobRef>,
  { versions, history, put }: PutContext,
): Promise<void> {
  const wanted = new Map([...version].filter(([, { hash }]) => !refs.has(hash)))
  const contents = wanted.size > 0 ? await versions.read(wanted, history) : new Map<string, Uint8Array>()
  const lost = [...wanted.keys()].filter((rel) => !contents.has(rel))
  if (lost.length > 0) throw versionUnavailable(turnId, missingBytesMessage(lost))
  for (const [rel, { hash }] of wanted) if (!refs.has(hash)) refs.set(hash, await put(contents.get(rel) as Uint8Array))
}
