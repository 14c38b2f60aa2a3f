interface DownloadOptions {
  /**
   * Called when a piece after the first one can not be read. The connection is then closed before the end of the download, so the client
   * sees that the download is incomplete.
   */
  readonly onError: (error: unknown) => void
  /** Called once when the download has ended, even if it failed or was cancelled. */
  readonly onEnd: () => void
}

/**
 * The body of a response that sends these pieces. The next piece is read only when the client has taken the previous one. The first piece
 * is read before the promise resolves. If this fails, the promise rejects, and the request can still be answered with an error.
 */
export async function downloadBody(pieces: AsyncIterable<Uint8Array>, options: DownloadOptions): Promise<ReadableStream<Uint8Array>> {
  const reader = pieces[Symbol.asyncIterator]()
  let isOver = false
  const end = () => {
    if (!isOver) options.onEnd()
    isOver = true
  }
  let next: IteratorResult<Uint8Array> | undefined
  try {
    next = await reader.next()
  } catch (error) {
    end()
    throw error
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = next ?? (await reader.next())
          next = undefined
          if (!done) return controller.enqueue(value)
          controller.close()
        } catch (error) {
          options.onError(error)
          controller.error(error)
        }
        end()
      },
      async cancel() {
        end()
        await reader.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
