import { INVALID_SPAN_CONTEXT, type Span, type Tracer, trace } from '@opentelemetry/api'

/**
 * A tracer that never throws, and whose spans never throw. The SDK of the application may have processors and exporters that throw, and a
 * turn must not fail because of them. `onError` is called only for the first error, because every span would probably cause the same error.
 */
export function safeTracer(tracer: Tracer, onError: (error: unknown) => void): Pick<Tracer, 'startSpan'> {
  let reported = false
  function attempt<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      if (!reported) onError(error)
      reported = true
      return undefined
    }
  }
  return {
    startSpan: (...options) => {
      const span = attempt(() => tracer.startSpan(...options))
      return span ? safeSpan(span, attempt) : trace.wrapSpanContext(INVALID_SPAN_CONTEXT)
    },
  }
}

function safeSpan(span: Span, attempt: (work: () => unknown) => unknown): Span {
  const safe: Span = {
    spanContext: () => span.spanContext(),
    isRecording: () => span.isRecording(),
    end: (...options) => void attempt(() => span.end(...options)),
    recordException: (...options) => void attempt(() => span.recordException(...options)),
    setAttribute: (...options) => changed(() => span.setAttribute(...options)),
    setAttributes: (...options) => changed(() => span.setAttributes(...options)),
    addEvent: (...options: Parameters<Span['addEvent']>) => changed(() => span.addEvent(...options)),
    addLink: (...options) => changed(() => span.addLink(...options)),
    addLinks: (...options) => changed(() => span.addLinks(...options)),
    setStatus: (...options) => changed(() => span.setStatus(...options)),
    updateName: (...options) => changed(() => span.updateName(...options)),
  }
  const changed = (work: () => unknown): Span => {
    attempt(work)
    return safe
  }
  return safe
}
