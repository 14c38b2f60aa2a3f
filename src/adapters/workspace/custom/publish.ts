import type { BlobRef } from '../../../core/block/index.ts'
import { filePath } from '../../../core/path/build.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Files } from '../../../ports/files.ts'
import type { PublishOutcome, PublishRequest, RecordedFiles } from '../../../ports/workspace.ts'
import { readCheckoutRecord, sha256Of } from '../checkout.ts'
import type { StoredFile, Version } from '../files.ts'
import { filesFolder, isEmpty, readPublishable } from '../files.ts'
import { nextLineage, publishOutcomes } from '../publish-record.ts'
import type { CustomVersions } from './versions.ts'
import { changesBetween, nextManifest, storeManifest } from './versions.ts'

export interface CustomPublishContext {
  readonly versions: CustomVersions
  readonly files: Files
  readonly runtime: Files
  readonly blobs: Pick<BlobStore, 'put'>
  readonly history: RecordedFiles
}

/** The manifest of this turn. Bytes that no block holds become blobs that this one keeps; what did not change costs nothing. */
export async function publishCustom(turnId: string, { previous }: PublishRequest, parts: CustomPublishContext): Promise<PublishOutcome> {
  const { files, runtime, blobs, history, versions } = parts
  const record = publishOutcomes('custom', turnId)
  const checkedOut = await readCheckoutRecord(runtime, turnId)
  if (!checkedOut && (await isEmpty(files, filesFolder(turnId)))) return record.skipped('workspace_not_materialized')
  const made = await readPublishable(files, filesFolder(turnId))
  const parent = previous === undefined ? undefined : await versions.load(previous, history)
  const before: Version = parent?.version ?? new Map()
  const next = nextLineage(before, await storeableFiles(made, before, turnId, history), checkedOut)
  if (!parent && next.size === 0) return record.skipped('empty_workspace')

  const manifest = nextManifest(parent && previous !== undefined ? { turnId: previous, ...parent } : undefined, next)
  const changed = changesBetween(before, next)
  const kept: BlobRef[] = []
  for (const [rel, { hash, size, recorded }] of next) {
    if (recorded !== undefined) continue
    const bytes = changed.has(rel) ? made.get(rel) : undefined
    if (bytes) kept.push(await blobs.put(bytes))
    else if (manifest.files.has(rel)) kept.push({ sha256: hash, size }) // named again: it must not depend on the block that named it first
  }
  const stored = await storeManifest(manifest, blobs)
  const facts = { files: next.size, manifest: stored.manifest }
  const published = changed.size === 0 && parent ? record.unchanged(facts) : record.committed(facts)
  return { ...published, keeps: [...stored.keeps, ...uniqueRefs(kept)] }
}

/** By content. What the turn's own blocks hold already is not kept twice. */
async function storeableFiles(
  made: ReadonlyMap<string, Uint8Array>,
  before: Version,
  turnId: string,
  history: RecordedFiles,
): Promise<Version> {
  const next = new Map<string, StoredFile>()
  for (const [rel, bytes] of made) {
    const hash = sha256Of(bytes)
    const known = before.get(rel)
    if (known?.hash === hash) next.set(rel, known)
    else {
      const recorded = await history.bytes(filePath(turnId, 'files', rel))
      const held = recorded !== undefined && sha256Of(recorded) === hash
      next.set(rel, { hash, size: bytes.length, ...(held && { recorded: turnId }) })
    }
  }
  return next
}

const uniqueRefs = (refs: readonly BlobRef[]): readonly BlobRef[] => [...new Map(refs.map((ref) => [ref.sha256, ref])).values()]
