import type { BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import type { BlobStore } from '../../ports/blobs.ts'

/**
 * The blobs of the store, for the tools of a running conversation. It remembers which blobs tools have put since the last turn was closed.
 * Possibly no entry refers to these blobs yet. If the conversation is deleted, the deletion would then not find them in the journal, so it
 * gets them from `refs`.
 */
export interface PutBlobs {
  readonly blobs: BlobStore
  /** Forgets the blobs that were put. Called when a turn is closed. From then on the journal refers to the blobs that the turn needed. */
  forget(): void
  /** Waits for puts that are running. Later puts throw, because a tool that did not stop may try to put a blob after a deletion. */
  close(): Promise<void>
  refs(): readonly BlobRef[]
}

export function createPutBlobs(store: BlobStore): PutBlobs {
  const running = new Set<Promise<unknown>>()
  let refs: BlobRef[] = []
  let closed = false

  async function put(bytes: Uint8Array): Promise<BlobRef> {
    if (closed) throw new Failure('store.closed', 'the turn has ended: its tools can not store anything any more')
    const putting = store.put(bytes)
    running.add(putting)
    try {
      const ref = await putting
      refs.push(ref)
      return ref
    } finally {
      running.delete(putting)
    }
  }

  return {
    blobs: { ...store, put },
    forget() {
      refs = []
    },
    async close() {
      closed = true
      await Promise.allSettled(running)
    },
    refs: () => refs,
  }
}
