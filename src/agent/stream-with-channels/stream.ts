import type { SourceMap } from '../../core/citations/replace.ts'
import { errorMessage } from '../../core/failure.ts'
import { type ModelEvent, parseModelEvent, type ServiceError } from '../../core/model-event.ts'
import type { ChannelEvent } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import { createStopTimer, startIfOpen, startStopTimer, untilStopped } from '../model-call/read-response.ts'
import { type ChannelOutput, channelResult, createChannelOutput } from './channel.ts'
import {
  type ChannelResult,
  type ChannelStream,
  type ChannelSubscribers,
  type CompositeDelta,
  type Delta,
  type Emit,
  type StreamMeta,
  StreamPolicyViolation,
  type StreamProblem,
  type StreamWithChannelsOptions,
  type Subscriber,
} from './types.ts'

const noSources: SourceMap = new Map()

/**
 * Splits the response of one model call into channels. For each piece, calls `onRaw`, then `emit`, then the subscribers of the channel. An
 * error of the provider is in `meta.serviceError`. Errors of these functions are in `meta.problems`. Only a StreamPolicyViolation is
 * thrown.
 */
export async function streamWithChannels(options: StreamWithChannelsOptions): Promise<ChannelStream> {
  const { agent, onRaw, composite } = options
  const extra = { attempt: options.attempt ?? 0 }
  const settings = { ...options, extra, sources: options.sources ?? (() => noSources) }
  const outputs = new Map(options.channels.map((spec) => [spec.name, createChannelOutput(spec, settings)]))
  const parser = createChannelParser(options.channels)
  const listeners = createListeners(options.emit, options.subscribers ?? {})
  let raw = ''
  let thoughts = ''
  let finish: Extract<ModelEvent, { type: 'finish' }> | undefined
  let serviceError: ServiceError | undefined

  /** Handles one event. Returns false when the call has ended. */
  async function receive(event: ModelEvent): Promise<boolean> {
    switch (event.type) {
      case 'text.delta':
        raw += event.text
        if (onRaw !== undefined) await listeners.attempt('onRaw', undefined, () => onRaw(event.text))
        for (const piece of parser.push(event.text)) await route(piece)
        return true
      case 'reasoning.delta':
        thoughts += event.text
        return true
      case 'call.start':
      case 'call.delta':
      case 'call.end':
        return true // the request has no tools, so the model can call none
      case 'finish':
        finish = event
        return true
      case 'error':
        serviceError = event.error
        return false
      default:
        return event satisfies never
    }
  }

  /**
   * Reads all events of the provider. If the provider throws an error, returns it. If the provider reports an error as an event, `receive`
   * stores it.
   */
  async function callProvider(): Promise<ServiceError | undefined> {
    const { stream, signal: outer } = options
    const stop = new AbortController()
    const signal = outer === undefined ? stop.signal : AbortSignal.any([outer, stop.signal])
    if (signal.aborted) return thrownError(signal.reason, false, true)
    const stopTimer = createStopTimer()
    const onAbort = () => startStopTimer(stopTimer, 0) // a provider that handles the signal has one timer tick to report how the call ended
    let handling: Promise<boolean> | undefined
    let violation: { readonly thrown: unknown } | undefined
    let hasOutput = false
    let stopped = false

    async function readEvents(): Promise<void> {
      for await (const received of typeof stream === 'function' ? stream(signal) : stream) {
        if (stopTimer.expired) break
        const event = parseModelEvent(received, '')
        if (!event) continue
        hasOutput ||= event.type === 'text.delta' || event.type === 'reasoning.delta'
        try {
          handling = receive(event)
          if (!(await handling)) stop.abort()
        } catch (thrown) {
          violation = { thrown }
          stop.abort(thrown)
        }
        stopped = signal.aborted
        if (stopped) break
        if (event.type === 'finish') startIfOpen(stopTimer)
      }
    }

    outer?.addEventListener('abort', onAbort)
    const failure = await untilStopped(stopTimer, readEvents())
    outer?.removeEventListener('abort', onAbort) // the outer signal may exist longer than this call
    await handling?.catch(() => {}) // a function of the caller may still be running: wait for its end
    if (violation) throw violation.thrown
    if (failure && !stopped) return thrownError(failure.thrown, hasOutput, signal.aborted)
    if (failure) listeners.report('provider', undefined, failure.thrown)
    const aborted = outer?.aborted && (stopped || stopTimer.expired)
    return aborted && serviceError === undefined ? thrownError(signal.reason, hasOutput, true) : undefined
  }

  async function route(event: ChannelEvent): Promise<void> {
    const output = outputs.get(event.channel) as ChannelOutput
    switch (event.type) {
      case 'channel.start':
        output.start()
        return listeners.open(event.channel, event.instance)
      case 'channel.delta': {
        const delta = output.write(event.text)
        if (isComposite(event)) await showComposite(event, () => composite?.push(event.text))
        else if (delta !== undefined) await show(delta)
        if (delta !== undefined) await listeners.notify(delta)
        return
      }
      case 'channel.end':
        if (isComposite(event)) await showComposite(event, () => composite?.end())
        for (const delta of output.end(event.closed, event.closed === 'cut' && serviceError !== undefined)) {
          if (!isComposite(event)) await show(delta)
          await listeners.notify(delta)
        }
        return
      default:
        event satisfies never
    }
  }

  /** Emits a delta. A channel `usage` with the default marker is left out, because clients would show it as part of the answer. */
  async function show(delta: Delta): Promise<void> {
    if (delta.channel.toLowerCase() !== 'usage' || delta.marker !== 'answer') await listeners.show(delta)
  }

  const isComposite = (event: ChannelEvent) => event.channel === composite?.channel

  async function showComposite(event: ChannelEvent, read: () => readonly CompositeDelta[] | undefined): Promise<void> {
    let deltas: readonly CompositeDelta[] = []
    await listeners.attempt('composite', event.channel, () => {
      deltas = read() ?? []
    })
    for (const delta of deltas) await listeners.show({ ...delta, channel: event.channel, instance: event.instance, raw: '', agent, extra })
  }

  serviceError = (await callProvider()) ?? serviceError
  for (const event of parser.end()) await route(event)

  const results = new Map<string, ChannelResult>()
  for (const [name, output] of outputs) results.set(name, await channelResult(output, options.parse))
  const { preamble, strayTags, unknownChannels } = parser
  const meta: StreamMeta = {
    raw,
    thoughts,
    preamble,
    strayTags,
    unknownChannels,
    problems: listeners.problems,
    ...(serviceError !== undefined && { serviceError }),
    ...(finish !== undefined && { finishReason: finish.finishReason }),
    ...(finish !== undefined && finish.modelName !== '' && { modelName: finish.modelName }),
    ...(finish?.usage !== undefined && { usage: finish.usage }),
    ...(finish?.providerMessageId !== undefined && { providerMessageId: finish.providerMessageId }),
  }
  return { results, meta }
}

/**
 * The functions of the caller that get deltas. If one of them throws, the others are still called, and the stream continues. Only a
 * StreamPolicyViolation is thrown again.
 */
interface StreamListeners {
  /** Calls `emit`. After three failures in a row, `emit` is not called any more, because its client is probably gone. */
  show(delta: Delta): Promise<void>
  /** Calls the subscribers of the channel, one after the other. */
  notify(delta: Delta): Promise<void>
  /** Called when an instance of a channel begins. Creates the subscribers that exist once per instance. */
  open(channel: string, instance: number): Promise<void>
  /** Runs an action. If it throws, reports the error and returns false. */
  attempt(where: StreamProblem['where'], channel: string | undefined, action: () => unknown): Promise<boolean>
  report(where: StreamProblem['where'], channel: string | undefined, error: unknown): void
  readonly problems: readonly StreamProblem[]
}

const maxEmitFailures = 3
const maxProblems = 20

function createListeners(emit: Emit, subscribers: ChannelSubscribers): StreamListeners {
  const active = new Map<string, readonly Subscriber[]>()
  const problems: StreamProblem[] = []
  let emitFailures = 0

  async function attempt(where: StreamProblem['where'], channel: string | undefined, action: () => unknown): Promise<boolean> {
    try {
      await action()
      return true
    } catch (error) {
      if (error instanceof StreamPolicyViolation) throw error
      report(where, channel, error)
      return false
    }
  }

  function report(where: StreamProblem['where'], channel: string | undefined, error: unknown): void {
    if (problems.length < maxProblems) problems.push({ where, ...(channel !== undefined && { channel }), error })
  }

  return {
    attempt,
    report,
    problems,
    async show(delta) {
      if (emitFailures >= maxEmitFailures) return
      emitFailures = (await attempt('emit', delta.channel, () => emit(delta))) ? 0 : emitFailures + 1
    },
    async notify(delta) {
      for (const subscriber of active.get(delta.channel) ?? []) await attempt('subscriber', delta.channel, () => subscriber(delta))
    },
    async open(channel, instance) {
      const created: Subscriber[] = []
      for (const subscriber of Object.hasOwn(subscribers, channel) ? (subscribers[channel] ?? []) : []) {
        if (typeof subscriber === 'function') created.push(subscriber)
        else await attempt('subscriber', channel, () => created.push(subscriber.forInstance(instance)))
      }
      active.set(channel, created)
    },
  }
}

/**
 * Makes a ServiceError of an error that the provider threw. The ServiceError is for the caller of `streamWithChannels` and is never shown
 * to a model.
 */
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
