import type { JsonEvent, JsonPath, JsonValue } from './event.ts'

/** Builds JSON values from the events of a JSON reader. */
export interface JsonCollector {
  /**
   * Returns the value that this event completes. If the end event has `aborted`, this is the value as far as it was read. Undefined when
   * the event completes no value.
   */
  push(event: JsonEvent): JsonValue | undefined
}

/** An object or an array that is still open. */
type Frame =
  | { readonly fields: { [key: string]: JsonValue }; readonly items: undefined }
  | { readonly fields: undefined; readonly items: JsonValue[] }

export function createJsonCollector(): JsonCollector {
  const frames: Frame[] = []
  let text = ''

  function put(path: JsonPath, value: JsonValue): JsonValue {
    const frame = frames.at(-1)
    if (frame?.fields) setKey(frame.fields, String(path[path.length - 1]), value)
    else frame?.items?.push(value)
    return value
  }

  return {
    push(event) {
      switch (event.type) {
        case 'string.start':
          text = ''
          return undefined
        case 'string.delta':
          text += event.text
          return undefined
        case 'string.end':
          return put(event.path, text)
        case 'scalar':
          return put(event.path, event.value)
        case 'object.start':
          frames.push({ fields: {}, items: undefined })
          return undefined
        case 'array.start':
          frames.push({ fields: undefined, items: [] })
          return undefined
        case 'object.end':
        case 'array.end': {
          const frame = frames.pop()
          if (frame === undefined) return undefined
          return put(event.path, frame.fields ?? frame.items)
        }
        default:
          return event satisfies never
      }
    },
  }
}

/** Sets a key in the same way as JSON.parse: if a key occurs twice, its last value is used, and `__proto__` is an ordinary key. */
function setKey(fields: { [key: string]: JsonValue }, key: string, value: JsonValue): void {
  if (key === '__proto__') Object.defineProperty(fields, key, { value, writable: true, enumerable: true, configurable: true })
  else fields[key] = value
}
