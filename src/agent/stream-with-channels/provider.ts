import { errorMessage } from '../../core/failure.ts'
import type { ModelEvent, ServiceError } from '../../core/model-event.ts'

export interface ProviderCall {
  readonly stream: AsyncIterable<ModelEvent> | ((signal: AbortSignal) => AsyncIterable<ModelEvent>)
  /** Stops the call from outside. */
  readonly signal: AbortSignal | undefined
  /** Answers false when it wants no more. */
  onEvent(event: ModelEvent): Promise<boolean>
  /** The provider failed while it was being stopped. */
  report(error: unknown): void
}

/** Reads a provider to its end. What the provider throws is returned as data; what `hear` throws stops the provider and is thrown on. */
export async function readProvider({ stream, signal: outer, onEvent: hear, report }: ProviderCall): Promise<ServiceError | undefined> {
  const stop = new AbortController()
  const signal = outer === undefined ? stop.signal : AbortSignal.any([outer, stop.signal])
  let heard = false
  let iterator: AsyncIterator<ModelEvent> | undefined
  /** Set while an event is being waited for: waits no more. */
  let giveUp: ((reason: unknown) => void) | undefined
  /** Not at once: a provider that listens to the signal as well may still say how it ended. */
  const onAbort = () => void setTimeout(() => giveUp?.(signal.reason))

  async function next(): Promise<IteratorResult<ModelEvent> | ServiceError> {
    try {
      signal.throwIfAborted()
      iterator ??= (typeof stream === 'function' ? stream(signal) : stream)[Symbol.asyncIterator]()
      return await nextOf(iterator)
    } catch (error) {
      return thrownError(error, heard, signal.aborted)
    }
  }

  function nextOf(provider: AsyncIterator<ModelEvent>): Promise<IteratorResult<ModelEvent>> {
    return new Promise((resolve, reject) => {
      giveUp = reject
      const arrived = () => {
        giveUp = undefined
      }
      Promise.resolve(provider.next()).finally(arrived).then(resolve, reject)
    })
  }

  async function hangUp(reason?: unknown): Promise<void> {
    const owesAnEvent = giveUp !== undefined
    stop.abort(reason)
    const stopped = stopProvider()
    if (!owesAnEvent) await stopped // one that never gives its event never stops either
  }

  async function stopProvider(): Promise<void> {
    try {
      await iterator?.return?.()
    } catch (error) {
      report(error)
    }
  }

  async function hearAll(): Promise<ServiceError | undefined> {
    for (;;) {
      const step = await next()
      if ('kind' in step) {
        if (step.kind === 'aborted') await hangUp()
        return step
      }
      if (step.done === true) return undefined
      heard ||= step.value.type === 'text.delta' || step.value.type === 'reasoning.delta'
      try {
        if (await hear(step.value)) continue
      } catch (violation) {
        await hangUp(violation)
        throw violation
      }
      await hangUp()
      return undefined
    }
  }

  signal.addEventListener('abort', onAbort)
  try {
    return await hearAll()
  } finally {
    signal.removeEventListener('abort', onAbort) // the outer signal may outlive many calls
  }
}

/** A provider that throws instead of saying what is wrong. Its words are for us; they never become the model's. */
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
