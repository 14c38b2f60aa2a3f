import type { BlobRef } from '../../../core/block/index.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Files, SkippedEntry } from '../../../ports/files.ts'
import type { PublishOutcome, PublishRequest, RecordedFiles } from '../../../ports/workspace.ts'
import { readCheckoutRecord } from '../checkout.ts'
import { filesFolder, listFolder, type Version } from '../files.ts'
import { findKeptFiles } from '../kept-files.ts'
import { addUnread, findHeldFiles, leftOutField, nextLineage, nothingHeld, publishOutcomes, recordedScopes } from '../publish-record.ts'
import { storeFiles } from './store-files.ts'
import { type CustomVersions, changesBetween, nextManifest, storeManifest } from './versions.ts'

interface CustomPublishContext {
  readonly versions: CustomVersions
  readonly files: Files
  readonly runtime: Files
  readonly blobs: Pick<BlobStore, 'put' | 'putStream'>
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
  const parent = previous === undefined ? undefined : await versions.load(previous, history)
  const before: Version = parent?.version ?? new Map()
  const sizes = new Map([...folder.files].flatMap(([rel, { size }]) => (kept.has(rel) ? [[rel, size] as const] : [])))
  const stored = await storeFiles(sizes, { turnId, before, files, blobs, history }, (entry) => refused.push(entry))
  const skipped = addUnread(folder.skipped, refused)
  const leftOut = leftOutField({ ignored: listed.filter((rel) => !kept.has(rel)), skipped }, stored.keys())
  const next = nextLineage(before, stored, held ?? nothingHeld, skipped)
  if (!parent && next.size === 0) return outcomes.skipped('empty_workspace', leftOut)

  const manifest = nextManifest(parent && previous !== undefined ? { turnId: previous, ...parent } : undefined, next)
  const changed = changesBetween(before, next)
  const refs: BlobRef[] = []
  for (const [rel, { hash, size, recorded }] of next) {
    // the new publish block also refers to blobs of older versions, because retention may remove the older publish blocks
    if (recorded === undefined && manifest.files.has(rel)) refs.push({ sha256: hash, size })
  }
  const storedManifest = await storeManifest(manifest, blobs)
  const fields = {
    files: next.size,
    scopes: recordedScopes(next),
    manifest: storedManifest.manifest,
    ...leftOut,
    // the previous version was stored by another kind of workspace
    ...(!parent && previous !== undefined && { parent_unavailable: previous }),
  }
  const outcome = changed.size === 0 && parent ? outcomes.unchanged(fields) : outcomes.committed(fields)
  return { ...outcome, keeps: [...storedManifest.keeps, ...uniqueRefs(refs)] }
}

const uniqueRefs = (refs: readonly BlobRef[]): readonly BlobRef[] => [...new Map(refs.map((ref) => [ref.sha256, ref])).values()]
