import { streamWithChannels } from '../../src/agent/stream-with-channels/stream.ts'
import type { ChannelSpec, Delta, StreamWithChannelsOptions } from '../../src/agent/stream-with-channels/types.ts'
import type { CitedSource, SourceMap } from '../../src/core/citations/replace.ts'
import type { ModelEvent } from '../../src/core/model-event.ts'

/** The sources that answers in streaming tests cite. */
export const sources: SourceMap = new Map<number, CitedSource>([
  [1, { title: 'Alpha', url: 'https://a.example/1' }],
  [2, { title: 'Beta [b] | x', url: 'https://b.example/2' }],
  [3, { title: 'NoLink' }],
  [4, { url: 'https://d.example/p' }],
])

export const channels: readonly ChannelSpec[] = [
  { name: 'answer', format: 'markdown' },
  { name: 'thinking', format: 'markdown', replaceCitations: false, emitMarker: 'thinking' },
  { name: 'usage', format: 'json', replaceCitations: false, emitMarker: 'usage' },
  { name: 'action', format: 'json' },
  { name: 'code', format: 'text', raw: true },
  { name: 'summary', format: 'markdown' },
  { name: 'page', format: 'html' },
]

export const usage = { uncached: 10, cacheRead: 5, cacheWrite: 2, output: 7, reasoning: 3 }
export const finish: ModelEvent = { type: 'finish', finishReason: 'stop', usage, modelName: 'scripted', providerMessageId: 'm1' }

export async function* modelEvents(pieces: readonly string[], ...last: readonly ModelEvent[]): AsyncGenerator<ModelEvent> {
  for (const text of pieces) yield { type: 'text.delta', text }
  yield* last
}

export async function run(pieces: readonly string[], options: Partial<StreamWithChannelsOptions> = {}) {
  const deltas: Delta[] = []
  const emit = (delta: Delta) => void deltas.push(delta)
  const base = { stream: modelEvents(pieces, finish), channels, emit, agent: 'tester', sources: () => sources }
  const { results, meta } = await streamWithChannels({ ...base, ...options })
  return { deltas, results, meta }
}

export const deltasOfChannel = (deltas: readonly Delta[], channel: string) => deltas.filter((delta) => delta.channel === channel)
export const texts = (deltas: readonly Delta[]) => deltas.map(({ text }) => text).join('')
