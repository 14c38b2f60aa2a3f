import type { SourceMap } from '../../core/citations/source-map.ts'
import type { ModelEvent, ServiceError } from '../../core/model-event.ts'
import type { ChannelEvent } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import { createListeners } from '../stream-with-channels-audience.ts'
import { channelResult } from '../stream-with-channels-result.ts'
import { type ChannelLane, createChannelLane } from './channel.ts'
import { readProvider } from './provider.ts'
import type { ChannelResult, ChannelStream, CompositeDelta, Delta, StreamMeta, StreamWithChannelsOptions } from './types.ts'

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
