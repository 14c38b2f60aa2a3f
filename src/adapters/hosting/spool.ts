import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BlobRef } from '../../core/block/index.ts'
import { errorMessage, Failure } from '../../core/failure.ts'
import type { LargeContent } from './objects.ts'

/** The bytes of a stream that has ended. */
export interface Spooled extends LargeContent {
  readonly blob: BlobRef
  /** Frees the memory and the disk space. */
  close(): Promise<void>
}

/** A stream with more bytes is written to a temporary file. */
const MEMORY_BYTES = 1024 * 1024

/**
 * Reads a stream to its end, and keeps its bytes in memory, or in a temporary file if it is large. The file has no name, so the system
 * removes it when the process ends, even if the process is killed. If the stream throws, nothing is kept.
 */
export async function spool(pieces: AsyncIterable<Uint8Array>): Promise<Spooled> {
  const hash = createHash('sha256')
  let size = 0
  let kept: Uint8Array[] = []
  let file: FileHandle | undefined
  const close = async () => file?.close()
  try {
    for await (const piece of pieces) {
      hash.update(piece)
      size += piece.length
      kept.push(Uint8Array.from(piece)) // a copy, because the caller may use the memory of a piece again
      if (size <= MEMORY_BYTES) continue
      file ??= await onDisk(openTemporaryFile)
      const to = file
      for (const bytes of kept) await onDisk(() => to.writeFile(bytes)) // appends the bytes
      kept = []
    }
  } catch (error) {
    await close()
    throw error
  }
  const blob = { sha256: hash.digest('hex'), size }
  const from = file
  if (from) return { blob, size, close, read: ({ start, end }) => onDisk(() => readRange(from, start, end)) }
  const bytes = Buffer.concat(kept)
  return { blob, size, close, read: async ({ start, end }) => Uint8Array.from(bytes.subarray(start, end)) }
}

async function openTemporaryFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `daybook-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

async function readRange(file: FileHandle, start: number, end: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start)
  for (let filled = 0; filled < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, start + filled)
    if (bytesRead === 0) throw new Error('the file is shorter than what was written')
    filled += bytesRead
  }
  return bytes
}

async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const message = `a large file needs space in the folder for temporary files (TMPDIR): ${errorMessage(error)}`
    throw new Failure('store.failed', message, { cause: error })
  }
}
