import { context, type Span, SpanKind, type Tracer, trace } from '@opentelemetry/api'
import type { ModelEvent } from '../../core/model-event.ts'
import type { Model, ModelRequest } from '../../ports/model.ts'
import type { ObservedOutcome, Telemetry } from '../../ports/telemetry.ts'
import { conversationAttributes, fail, modelAttributes } from './attributes.ts'
import { safeTracer } from './safe-tracer.ts'
import { createTurnSpans, type TurnSpans } from './turn-spans.ts'

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** The tracer that makes the spans. Default: the tracer `daybook` of the provider that your program has registered. */
  readonly tracer?: SpanSource
  /** The name of the agent in its spans. Default: `daybook`. */
  readonly agentName?: string
}

/** A `Tracer` of @opentelemetry/api. It is declared here, so that the types of Daybook compile without that package. */
export interface SpanSource {
  startSpan(name: string, options?: object, context?: object): object
}

/**
 * Telemetry that makes OpenTelemetry spans by the semantic conventions for generative AI: a span for each turn, and in it spans for rounds,
 * model calls, tools and compactions. The spans have numbers and names, and no text of conversations. Your program chooses and registers
 * the SDK that exports them. Without an SDK, the spans are dropped.
 */
export function openTelemetry({ tracer: given, agentName = 'daybook' }: OpenTelemetryOptions = {}): Telemetry {
  const source = (given ?? trace.getTracer('daybook')) as Tracer // `SpanSource` is the type of a tracer
  return {
    observe(agent) {
      const tracer = safeTracer(source, (error) => agent.onProblem({ where: 'telemetry', error }))
      const turns = createTurnSpans(tracer, agentName, agent)
      return {
        model: (model) => ({ ...model, stream: (request, signal) => observedStream(tracer, turns, model, request, signal) }),
        onEntry: turns.onEntry,
        close: turns.close,
        tool(call, run) {
          const attributes = {
            ...conversationAttributes(call.conversationId),
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': call.toolId,
            'gen_ai.tool.type': 'function',
            'gen_ai.tool.description': call.description,
            'gen_ai.tool.call.id': call.callId,
          }
          const parent = turns.roundContext(call.conversationId, call.turnId)
          const span = tracer.startSpan(`execute_tool ${call.toolId}`, { kind: SpanKind.INTERNAL, attributes }, parent)
          return runInSpan(span, trace.setSpan(parent, span), run)
        },
      }
    },
  }
}

/** Runs a tool with its span as the active span. So the spans of libraries that the tool uses become children of this span. */
function runInSpan<T extends ObservedOutcome>(
  span: Span,
  inSpan: ReturnType<typeof trace.setSpan>,
  run: () => T | Promise<T>,
): T | Promise<T> {
  const finish = (outcome: T): T => {
    if (!outcome.ok) fail(span, outcome.error?.code ?? '_OTHER')
    span.end()
    return outcome
  }
  const throwOn = (error: unknown): never => {
    fail(span, error instanceof Error ? error.name : '_OTHER')
    span.end()
    throw error
  }
  try {
    const outcome = context.with(inSpan, run)
    return outcome instanceof Promise ? outcome.then(finish, throwOn) : finish(outcome)
  } catch (error) {
    return throwOn(error)
  }
}

/** Streams a response, with a span from the request to the last event. */
async function* observedStream(
  tracer: Pick<Tracer, 'startSpan'>,
  turns: TurnSpans,
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  const conversationId = request.cacheKey
  const names = modelAttributes(model.name)
  const attributes = {
    ...conversationAttributes(conversationId),
    ...names,
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.max_tokens': request.maxTokens,
    'gen_ai.request.temperature': request.temperature,
    'gen_ai.request.stream': true,
    'daybook.model.role': request.role,
  }
  const parent = turns.contextOfCall(conversationId, request.role)
  const span = tracer.startSpan(`chat ${names['gen_ai.request.model']}`, { kind: SpanKind.CLIENT, attributes }, parent)
  const inSpan = trace.setSpan(parent, span)
  const endCall = turns.beginCall(conversationId, request.role, span)
  try {
    const events = context.with(inSpan, () => model.stream(request, signal)[Symbol.asyncIterator]())
    try {
      for (;;) {
        const step = await context.with(inSpan, () => events.next())
        if (step.done) break
        if (step.value.type === 'finish') span.setAttribute('gen_ai.response.finish_reasons', [step.value.finishReason])
        if (step.value.type === 'error') fail(span, step.value.error.error_type)
        yield step.value
      }
    } finally {
      await events.return?.()
    }
  } catch (error) {
    fail(span, error instanceof Error ? error.name : '_OTHER')
    throw error
  } finally {
    endCall()
  }
}
