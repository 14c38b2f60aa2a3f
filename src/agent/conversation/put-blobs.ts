import type { BlobRef } from '../../core/block/index.ts'
import { putPieces } from '../../core/collections/byte-pieces.ts'
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
  /**
   * Waits for puts that are running, and ends those of streams, because a stream may never end. Later puts throw, because a tool that did
   * not stop may try to put a blob after a deletion.
   */
  close(): Promise<void>
  refs(): readonly BlobRef[]
}

export function createPutBlobs(store: BlobStore): PutBlobs {
  const running = new Set<Promise<unknown>>()
  let refs: BlobRef[] = []
  let closed = false

  /** Ends the streams that wait for their next piece. */
  const ends = new Set<(error: Failure) => void>()

  async function* untilClosed(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const iterator = pieces[Symbol.asyncIterator]()
    let isEnded = false
    try {
      for (;;) {
        const next = await nextPiece(iterator)
        isEnded = next.done === true
        if (next.done) return
        yield next.value
      }
    } finally {
      // not awaited: the end of a stream that waits for its next piece would wait for this piece, too
      if (!isEnded) void Promise.resolve(iterator.return?.()).catch(() => {})
    }
  }

  /**
   * The next piece of a stream. Rejects when the conversation is closed. Each piece has a promise of its own: a single promise for the end
   * of all streams would keep every piece in memory, because each `Promise.race` with it adds a reaction to it.
   */
  async function nextPiece(iterator: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
    if (closed) throw turnEnded()
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Uint8Array>>()
    ends.add(reject)
    Promise.resolve(iterator.next()).then(resolve, reject)
    try {
      return await promise
    } finally {
      ends.delete(reject)
    }
  }

  async function track(put: () => Promise<BlobRef>): Promise<BlobRef> {
    if (closed) throw turnEnded()
    const putting = put()
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
    blobs: {
      ...store,
      put: (bytes) => track(() => store.put(bytes)),
      putStream: (pieces, options) => track(() => putPieces(store, untilClosed(pieces), options)),
    },
    forget() {
      refs = []
    },
    async close() {
      closed = true
      for (const end of ends) end(turnEnded())
      if (running.size > 0) await Promise.allSettled(running)
    },
    refs: () => refs,
  }
}

const turnEnded = () => new Failure('store.closed', 'the turn has ended: its tools can not store anything any more')
