import type { ChannelFormat } from './channel.ts'
import { createJsonCollector, type JsonCollector } from './json/collector.ts'
import type { JsonEvent } from './json/event.ts'
import { createJsonReader, type JsonReader } from './json/reader.ts'
import { type CreateReplacer, createDeltaBuffer, createLane, type Lane, type LaneDelta, withoutRewriting } from './lane.ts'
import { citationFormat } from './lanes-content.ts'

/** How a top-level attribute of the JSON is shown: a format, or an object that may contain a format. The default format is markdown. */
export type CompositeField = ChannelFormat | (string & {}) | { readonly format?: ChannelFormat; readonly schema?: unknown }

/** Options of `createCompositeReader`. */
export interface CompositeSettings {
  /** The name of the JSON channel whose attributes are shown. */
  readonly channel: string
  readonly marker: string
  readonly fields: Readonly<Record<string, CompositeField>>
  readonly replacer: CreateReplacer
}

/** Shows each top-level attribute of a JSON channel as a lane of its own, while the model writes it. */
export interface CompositeReader {
  readonly channel: string
  push(text: string): readonly LaneDelta[]
  /** Ends one instance of the channel. The model may open the channel again. */
  end(): readonly LaneDelta[]
}

const formats: ReadonlySet<string> = new Set<ChannelFormat>(['markdown', 'text', 'html', 'json', 'yaml', 'xml', 'mermaid'])

/** Creates the reader for the JSON channel `channel`. */
export function createCompositeReader({ channel, marker, fields, replacer }: CompositeSettings): CompositeReader {
  const buffer = createDeltaBuffer()
  let reader: JsonReader = createJsonReader()
  let lane: Lane | undefined
  let collector: JsonCollector | undefined

  function open(key: string, format: ChannelFormat): Lane {
    const createRewriter = format === 'json' ? withoutRewriting : () => replacer(citationFormat(format))
    return createLane({ marker, artifact_name: key, format }, createRewriter, buffer.emit)
  }

  function read(event: JsonEvent) {
    const [key] = event.path
    if (typeof key !== 'string' || !Object.hasOwn(fields, key)) return
    if (event.path.length === 1) readAttribute(key, event)
    else collector?.push(event)
  }

  function readAttribute(key: string, event: JsonEvent) {
    switch (event.type) {
      case 'string.start':
        lane = open(key, formatOf(fields[key]))
        return
      case 'string.delta':
        lane?.write(event.text)
        return
      case 'string.end':
        lane?.end(event.aborted ? 'aborted' : 'whole')
        return
      case 'scalar':
        return showWhole(key, JSON.stringify(event.value))
      case 'object.start':
      case 'array.start':
        collector = createJsonCollector()
        collector.push(event)
        return
      case 'object.end':
      case 'array.end': {
        const value = collector?.push(event)
        if (event.aborted) open(key, 'json').end('aborted')
        else showWhole(key, JSON.stringify(value))
        return
      }
      default:
        event satisfies never
    }
  }

  function showWhole(key: string, text: string) {
    const whole = open(key, 'json')
    whole.write(text)
    whole.end('whole')
  }

  function readAll(events: readonly JsonEvent[]): readonly LaneDelta[] {
    for (const event of events) read(event)
    return buffer.take()
  }

  return {
    channel,
    push: (text) => readAll(reader.push(text)),
    end() {
      const last = readAll(reader.end())
      reader = createJsonReader()
      return last
    },
  }
}

function formatOf(field: CompositeField | undefined): ChannelFormat {
  const named = typeof field === 'string' ? field : field?.format
  return named !== undefined && formats.has(named) ? (named as ChannelFormat) : 'markdown'
}
