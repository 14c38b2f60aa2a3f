import type { SourceMap } from '../../core/citations/replace.ts'
import type { ModelEvent, ServiceError } from '../../core/model-event.ts'
import type { ChannelEvent } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import { type ChannelLane, channelResult, createChannelLane } from './channel.ts'
import { readProvider } from './provider.ts'
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
 * Cuts one model call into channels and tells each listener, in this order: `onRaw`, `emit`, the channel's subscribers.
 * A broken provider ends in `meta.serviceError`, a broken listener in `meta.problems`; only a StreamPolicyViolation is thrown.
 */
export async function streamWithChannels(options: StreamWithChannelsOptions): Promise<ChannelStream> {
  const { agent, onRaw, composite } = options
  const extra = { attempt: options.attempt ?? 0 }
  const settings = { ...options, extra, sources: options.sources ?? (() => noSources) }
  const lanes = new Map(options.channels.map((spec) => [spec.name, createChannelLane(spec, settings)]))
  const parser = createChannelParser(options.channels)
  const audience = createListeners(options.emit, options.subscribers ?? {})
  let raw = ''
  let thoughts = ''
  let finish: Extract<ModelEvent, { type: 'finish' }> | undefined
  let serviceError: ServiceError | undefined

  async function hear(event: ModelEvent): Promise<boolean> {
    switch (event.type) {
      case 'text.delta':
        raw += event.text
        if (onRaw !== undefined) await audience.attempt('onRaw', undefined, () => onRaw(event.text))
        for (const piece of parser.push(event.text)) await route(piece)
        return true
      case 'reasoning.delta':
        thoughts += event.text
        return true
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

  async function route(event: ChannelEvent): Promise<void> {
    const lane = lanes.get(event.channel) as ChannelLane
    switch (event.type) {
      case 'channel.start':
        lane.start()
        return audience.open(event.channel, event.instance)
      case 'channel.delta': {
        const delta = lane.write(event.text)
        if (isComposite(event)) await showComposite(event, () => composite?.push(event.text))
        else if (delta !== undefined) await show(delta)
        if (delta !== undefined) await audience.notify(delta)
        return
      }
      case 'channel.end':
        if (isComposite(event)) await showComposite(event, () => composite?.end())
        for (const delta of lane.end(event.closed, event.closed === 'cut' && serviceError !== undefined)) {
          if (!isComposite(event)) await show(delta)
          await audience.notify(delta)
        }
        return
      default:
        event satisfies never
    }
  }

  /** Usage is for programs; with the marker that channels have by default it would be read as part of the answer. */
  async function show(delta: Delta): Promise<void> {
    if (delta.channel.toLowerCase() !== 'usage' || delta.marker !== 'answer') await audience.show(delta)
  }

  const isComposite = (event: ChannelEvent) => event.channel === composite?.channel

  async function showComposite(event: ChannelEvent, read: () => readonly CompositeDelta[] | undefined): Promise<void> {
    let deltas: readonly CompositeDelta[] = []
    await audience.attempt('composite', event.channel, () => {
      deltas = read() ?? []
    })
    for (const delta of deltas) await audience.show({ ...delta, channel: event.channel, instance: event.instance, raw: '', agent, extra })
  }

  const report = (error: unknown) => audience.report('provider', undefined, error)
  const thrown = await readProvider({ stream: options.stream, signal: options.signal, onEvent: hear, report })
  serviceError ??= thrown
  for (const event of parser.end()) await route(event)

  const results = new Map<string, ChannelResult>()
  for (const [name, lane] of lanes) results.set(name, await channelResult(lane, options.parse))
  const { preamble, strayTags, unknownChannels } = parser
  const meta: StreamMeta = {
    raw,
    thoughts,
    preamble,
    strayTags,
    unknownChannels,
    problems: audience.problems,
    ...(serviceError !== undefined && { serviceError }),
    ...(finish !== undefined && { modelName: finish.modelName, finishReason: finish.finishReason }),
    ...(finish?.usage !== undefined && { usage: finish.usage }),
    ...(finish?.providerMessageId !== undefined && { providerMessageId: finish.providerMessageId }),
  }
  return { results, meta }
}

/** Everyone who listens to a stream. None of them can harm another, or the stream; a StreamPolicyViolation is thrown on. */
export interface StreamListeners {
  /** The client's view. After three failures in a row nobody is there any more, and the stream goes on without them. */
  show(delta: Delta): Promise<void>
  /** The channel's subscribers, one after another. */
  notify(delta: Delta): Promise<void>
  /** An instance opens: subscribers that are made for each instance are made now. */
  open(channel: string, instance: number): Promise<void>
  /** Runs anything that may fail without harm. False when it did. */
  attempt(where: StreamProblem['where'], channel: string | undefined, action: () => unknown): Promise<boolean>
  report(where: StreamProblem['where'], channel: string | undefined, error: unknown): void
  readonly problems: readonly StreamProblem[]
}

const maxEmitFailures = 3
const maxProblems = 20

export function createListeners(emit: Emit, subscribers: ChannelSubscribers): StreamListeners {
  const listening = new Map<string, readonly Subscriber[]>()
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
      for (const subscriber of listening.get(delta.channel) ?? []) await attempt('subscriber', delta.channel, () => subscriber(delta))
    },
    async open(channel, instance) {
      const made: Subscriber[] = []
      for (const subscriber of Object.hasOwn(subscribers, channel) ? (subscribers[channel] ?? []) : []) {
        if (typeof subscriber === 'function') made.push(subscriber)
        else await attempt('subscriber', channel, () => made.push(subscriber.forInstance(instance)))
      }
      listening.set(channel, made)
    },
  }
}
