import type { BlobRef } from '../../../core/block/index.ts'
import { filePath } from '../../../core/path/build.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Files, SkippedEntry } from '../../../ports/files.ts'
import type { PublishOutcome, PublishRequest, RecordedFiles } from '../../../ports/workspace.ts'
import { readCheckoutRecord } from '../checkout.ts'
import { filesFolder, listFolder, readFiles, type StoredFile, sha256Of, type Version } from '../files.ts'
import { findKeptFiles } from '../kept-files.ts'
import { addUnread, findHeldFiles, leftOutField, nextLineage, nothingHeld, publishOutcomes, recordedScopes } from '../publish-record.ts'
import { type CustomVersions, changesBetween, nextManifest, storeManifest } from './versions.ts'

interface CustomPublishContext {
  readonly versions: CustomVersions
  readonly files: Files
  readonly runtime: Files
  readonly blobs: Pick<BlobStore, 'put'>
  readonly history: RecordedFiles
}

/**
 * Publishes the files of a turn. Makes a manifest for its publish block, and a blob for each changed file that no block of the turn
 * contains.
 */
export async function publishCustom(turnId: string, { previous }: PublishRequest, context: CustomPublishContext): Promise<PublishOutcome> {
  const { files, runtime, blobs, history, versions } = context
  const outcomes = publishOutcomes('custom', turnId)
  const checkedOut = await readCheckoutRecord(runtime, turnId)
  const kept = await findKeptFiles(turnId, history, checkedOut)
  const held = findHeldFiles(checkedOut, kept.made)
  const folder = await listFolder(files, filesFolder(turnId))
  const listed = [...folder.files.keys()]
  if (!held && listed.length + folder.skipped.length === 0) return outcomes.skipped('workspace_not_materialized')
  const refused: SkippedEntry[] = []
  const contents = await readFiles(files, filesFolder(turnId), listed.filter(kept.has), (entry) => refused.push(entry))
  const skipped = addUnread(folder.skipped, refused)
  const leftOut = leftOutField({ ignored: listed.filter((rel) => !kept.has(rel)), skipped }, contents.keys())
  const parent = previous === undefined ? undefined : await versions.load(previous, history)
  const before: Version = parent?.version ?? new Map()
  const next = nextLineage(before, await versionOf(contents, before, turnId, history), held ?? nothingHeld, skipped)
  if (!parent && next.size === 0) return outcomes.skipped('empty_workspace', leftOut)

  const manifest = nextManifest(parent && previous !== undefined ? { turnId: previous, ...parent } : undefined, next)
  const changed = changesBetween(before, next)
  const refs: BlobRef[] = []
  for (const [rel, { hash, size, recorded }] of next) {
    if (recorded !== undefined) continue
    const bytes = changed.has(rel) ? contents.get(rel) : undefined
    if (bytes) refs.push(await blobs.put(bytes))
    // the new publish block refers to this older blob too, because retention may remove the older publish block
    else if (manifest.files.has(rel)) refs.push({ sha256: hash, size })
  }
  const stored = await storeManifest(manifest, blobs)
  const fields = {
    files: next.size,
    scopes: recordedScopes(next),
    manifest: stored.manifest,
    ...leftOut,
    // the previous version was stored by another kind of workspace
    ...(!parent && previous !== undefined && { parent_unavailable: previous }),
  }
  const outcome = changed.size === 0 && parent ? outcomes.unchanged(fields) : outcomes.committed(fields)
  return { ...outcome, keeps: [...stored.keeps, ...uniqueRefs(refs)] }
}

/** The version with these contents. A file whose bytes are in a block of the turn gets `recorded`, so that it needs no blob. */
async function versionOf(
  contents: ReadonlyMap<string, Uint8Array>,
  before: Version,
  turnId: string,
  history: RecordedFiles,
): Promise<Version> {
  const version = new Map<string, StoredFile>()
  for (const [rel, bytes] of contents) {
    const hash = sha256Of(bytes)
    const known = before.get(rel)
    if (known?.hash === hash) version.set(rel, known)
    else {
      const recorded = await history.bytes(filePath(turnId, 'files', rel))
      const isRecorded = recorded !== undefined && sha256Of(recorded) === hash
      version.set(rel, { hash, size: bytes.length, ...(isRecorded && { recorded: turnId }) })
    }
  }
  return version
}

const uniqueRefs = (refs: readonly BlobRef[]): readonly BlobRef[] => [...new Map(refs.map((ref) => [ref.sha256, ref])).values()]
