import type { ModelEvent } from '../../core/model-event.ts'

/**
 * The events of one model call, for one reader. The iteration throws nothing: after an error of the model's adapter it ends, and the
 * error is in `failure`. A model that does not stop when it is told to can be abandoned: its later events are ignored.
 */
export interface ModelStream extends AsyncIterable<ModelEvent> {
  /** Ends the iteration after `ms`, unless the model has ended it by then. Replaces an earlier time. */
  abandonAfter(ms: number): void
  /** What the adapter has thrown: by itself, or when the reader stopped early. */
  readonly failure: { readonly thrown: unknown } | undefined
  /** The iteration ended because of `abandonAfter`. */
  readonly abandoned: boolean
}

type Result = IteratorResult<ModelEvent, undefined>

/** Calls `open` when the first event is read. */
export function openModelStream(open: () => AsyncIterable<ModelEvent>): ModelStream {
  let iterator: AsyncIterator<ModelEvent> | undefined
  /** Resolves what the reader waits for. */
  let resolveWait: ((result: Result) => void) | undefined
  let timer: NodeJS.Timeout | undefined
  let ended = false

  function settle(result: Result): void {
    if (result.done) {
      ended = true
      clearTimeout(timer)
    }
    const resolve = resolveWait
    resolveWait = undefined
    resolve?.(result)
  }

  function fail(thrown: unknown): void {
    if (resolveWait) stream.failure = { thrown }
    settle(end)
  }

  function receive(result: Result): void {
    if (typeof result !== 'object' || result === null) fail(new TypeError(`the model returned ${result} instead of an event`))
    else if (resolveWait) settle(result.done ? end : result)
  }

  const wait = (start: () => void) =>
    new Promise<Result>((resolve) => {
      if (ended) return resolve(end)
      resolveWait = resolve
      try {
        start()
      } catch (thrown) {
        fail(thrown)
      }
    })

  function readNext(): void {
    iterator ??= iteratorOf(open())
    Promise.resolve(iterator.next() as Promise<Result>).then(receive, fail)
  }

  async function stopModel(): Promise<void> {
    await iterator?.return?.()
  }

  function stop(): void {
    stopModel().then(() => settle(end), fail)
  }

  function abandon(): void {
    stream.abandoned = true
    settle(end)
    stopModel().catch(() => {}) // not awaited: the model may never stop
  }

  const stream = {
    failure: undefined as ModelStream['failure'],
    abandoned: false,
    abandonAfter(ms: number) {
      clearTimeout(timer)
      if (!ended) timer = setTimeout(abandon, ms)
    },
    [Symbol.asyncIterator]: () => ({ next: () => wait(readNext), return: () => wait(stop) }),
  }
  return stream
}

const end: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** `for await` accepts a list of events, too. */
function iteratorOf(events: AsyncIterable<ModelEvent>): AsyncIterator<ModelEvent> {
  if (events[Symbol.asyncIterator]) return events[Symbol.asyncIterator]()
  return (events as unknown as Iterable<ModelEvent>)[Symbol.iterator]() as unknown as AsyncIterator<ModelEvent> // `next` is awaited
}
