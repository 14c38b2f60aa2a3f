import { createHash } from 'node:crypto'
import type { BlobRef } from '../../../core/block/index.ts'
import { putPieces } from '../../../core/collections/byte-pieces.ts'
import { filePath } from '../../../core/path/build.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Files, SkippedEntry, UnsafeFileReason } from '../../../ports/files.ts'
import type { RecordedFiles } from '../../../ports/workspace.ts'
import { filesFolder, ifSafe, readIfSafe, type StoredFile, sha256Of, type Version } from '../files.ts'

interface FileStorage {
  readonly turnId: string
  /** The previous version. Files that are the same in it are not stored again. */
  readonly before: Version
  readonly files: Files
  readonly blobs: Pick<BlobStore, 'put' | 'putStream'>
  readonly history: RecordedFiles
}

/** Files up to this size are read as a whole. Larger files are streamed, first to compare their hash, and then to store them. */
const WHOLE_BYTES = 1024 * 1024

const PARALLEL_FILES = 8

/**
 * Stores files of a turn as blobs, and returns them as a version, in the order of `sizes`. A file whose bytes are in a block of the turn
 * gets `recorded` and needs no blob. Files that can not be read are left out, and `onRefused` is called with the reason. Only a few files
 * are in memory at the same time. After an error, no further file is stored.
 */
export async function storeFiles(
  sizes: ReadonlyMap<string, number>,
  storage: FileStorage,
  onRefused: (refused: SkippedEntry) => void,
): Promise<Version> {
  const stored = new Map<string, StoredFile | undefined>([...sizes.keys()].map((rel) => [rel, undefined]))
  const queue = sizes.entries()
  let hasFailed = false
  const worker = async () => {
    for (const [rel, size] of queue) {
      if (hasFailed) return
      const refuse = (reason: UnsafeFileReason) => onRefused({ path: rel, reason })
      stored.set(rel, await (size <= WHOLE_BYTES ? storeWhole : storeStream)(rel, storage, refuse))
    }
  }
  const fail = (error: unknown) => {
    hasFailed = true
    throw error
  }
  const workers = Array.from({ length: PARALLEL_FILES }, () => worker().catch(fail))
  await Promise.allSettled(workers) // a caller that gets the error may remove the folder or the conversation
  await Promise.all(workers)
  return new Map([...stored].filter((entry): entry is [string, StoredFile] => entry[1] !== undefined))
}

type StoreFile = (rel: string, storage: FileStorage, onRefused: (reason: UnsafeFileReason) => void) => Promise<StoredFile | undefined>

const storeWhole: StoreFile = async (rel, { turnId, before, files, blobs, history }, onRefused) => {
  const bytes = await readIfSafe(files, `${filesFolder(turnId)}/${rel}`, onRefused)
  if (!bytes) return undefined
  const file = { hash: sha256Of(bytes), size: bytes.length }
  const known = before.get(rel)
  if (known?.hash === file.hash) return known
  const recorded = await history.bytes(filePath(turnId, 'files', rel))
  if (recorded && sha256Of(recorded) === file.hash) return { ...file, recorded: turnId }
  await blobs.put(bytes)
  return file
}

const storeStream: StoreFile = async (rel, storage, onRefused) => {
  const { turnId, before, files, blobs, history } = storage
  const path = `${filesFolder(turnId)}/${rel}`
  const pieces = files.stream && (() => files.stream?.(path) as AsyncIterable<Uint8Array>)
  if (!pieces) return storeWhole(rel, storage, onRefused)
  const found = await ifSafe(() => refOf(pieces()), onRefused)
  if (!found) return undefined
  const known = before.get(rel)
  if (known?.hash === found.sha256) return known
  const recorded = await history.blob?.(filePath(turnId, 'files', rel))
  if (recorded?.sha256 === found.sha256) return { hash: found.sha256, size: found.size, recorded: turnId }
  // the hash of the stored bytes is used, because a program may have changed the file meanwhile
  const blob = await ifSafe(() => putPieces(blobs, pieces()), onRefused)
  return blob && { hash: blob.sha256, size: blob.size }
}

async function refOf(pieces: AsyncIterable<Uint8Array>): Promise<BlobRef> {
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of pieces) {
    hash.update(piece)
    size += piece.length
  }
  return { sha256: hash.digest('hex'), size }
}
