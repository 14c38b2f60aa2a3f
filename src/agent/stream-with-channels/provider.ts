import { errorMessage } from '../../core/failure.ts'
import type { ModelEvent, ServiceError } from '../../core/model-event.ts'

interface ProviderCall {
  readonly stream: AsyncIterable<ModelEvent> | ((signal: AbortSignal) => AsyncIterable<ModelEvent>)
  /** Aborts the call when it is aborted. */
  readonly signal: AbortSignal | undefined
  /** Called for each event. Returning false ends the call. */
  onEvent(event: ModelEvent): Promise<boolean>
  /** Called with an error that the provider threw while it was being stopped. */
  report(error: unknown): void
}

/** Reads a provider to its end. An error thrown by the provider is returned; one thrown by `onEvent` stops the provider and is rethrown. */
export async function readProvider({ stream, signal: outer, onEvent, report }: ProviderCall): Promise<ServiceError | undefined> {
  const stopController = new AbortController()
  const signal = outer === undefined ? stopController.signal : AbortSignal.any([outer, stopController.signal])
  let hasOutput = false
  let iterator: AsyncIterator<ModelEvent> | undefined
  /** Set while the next event is awaited. Calling it rejects that wait. */
  let stopWaiting: ((reason: unknown) => void) | undefined
  /** Stops waiting one timer tick after the abort, so that a provider that handles the signal can still report how the call ended. */
  const onAbort = () => void setTimeout(() => stopWaiting?.(signal.reason))

  async function next(): Promise<IteratorResult<ModelEvent> | ServiceError> {
    try {
      signal.throwIfAborted()
      iterator ??= (typeof stream === 'function' ? stream(signal) : stream)[Symbol.asyncIterator]()
      return await nextOf(iterator)
    } catch (error) {
      return thrownError(error, hasOutput, signal.aborted)
    }
  }

  function nextOf(provider: AsyncIterator<ModelEvent>): Promise<IteratorResult<ModelEvent>> {
    return new Promise((resolve, reject) => {
      stopWaiting = reject
      const arrived = () => {
        stopWaiting = undefined
      }
      Promise.resolve(provider.next()).finally(arrived).then(resolve, reject)
    })
  }

  async function stop(reason?: unknown): Promise<void> {
    const eventPending = stopWaiting !== undefined
    stopController.abort(reason)
    const stopped = stopProvider()
    if (!eventPending) await stopped // a provider that is still busy with its next event may never stop, so it is not awaited
  }

  async function stopProvider(): Promise<void> {
    try {
      await iterator?.return?.()
    } catch (error) {
      report(error)
    }
  }

  async function readAll(): Promise<ServiceError | undefined> {
    for (;;) {
      const step = await next()
      if ('kind' in step) {
        if (step.kind === 'aborted') await stop()
        return step
      }
      if (step.done === true) return undefined
      hasOutput ||= step.value.type === 'text.delta' || step.value.type === 'reasoning.delta'
      try {
        if (await onEvent(step.value)) continue
      } catch (violation) {
        await stop(violation)
        throw violation
      }
      await stop()
      return undefined
    }
  }

  signal.addEventListener('abort', onAbort)
  try {
    return await readAll()
  } finally {
    signal.removeEventListener('abort', onAbort) // the outer signal may outlive many calls
  }
}

/** An error that the provider threw, for the caller of `streamWithChannels`. Its text is never shown to a model. */
function thrownError(error: unknown, afterOutput: boolean, aborted: boolean): ServiceError {
  return {
    kind: aborted ? 'aborted' : 'unknown',
    service_name: 'model',
    provider: '',
    model_name: '',
    error_type: error instanceof Error ? error.name : typeof error,
    message: errorMessage(error),
    stage: afterOutput ? 'after_output' : 'before_output',
    retryable: false,
  }
}
