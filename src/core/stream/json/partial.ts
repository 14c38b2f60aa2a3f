import type { LaneEvent, TurnEvent } from '../../event.ts'
import type { Json } from '../../json.ts'
import type { JsonPath } from './event.ts'
import { createJsonReader } from './reader.ts'

/** Reads JSON while it arrives. */
export interface PartialJson {
  push(text: string): void
  /**
   * The value as far as it was read. Undefined before its first character, and for a value that is a string. Later text modifies the same
   * object and makes no copy, so that reading takes linear time. Copy the value if you want to keep it.
   */
  readonly value: unknown
}

/** An object or array that can still grow. */
type Container = { [key: string]: unknown } | unknown[]

export function createPartialJson(): PartialJson {
  const reader = createJsonReader()
  const open: Container[] = []
  let value: unknown
  let text = ''
  /** Whether the whole value is a string. A brace in this string does not begin an object, so nothing can be shown before the end. */
  let isString: boolean | undefined

  function put(path: JsonPath, item: unknown): void {
    const parent = open.at(-1)
    const key = path.at(-1)
    if (parent === undefined || key === undefined) value = item
    else Object.defineProperty(parent, key, { value: item, writable: true, enumerable: true, configurable: true })
  }

  return {
    push(chunk) {
      const first = chunk.trimStart()[0]
      if (first !== undefined) isString ??= first === '"'
      if (isString) return
      for (const event of reader.push(chunk)) {
        if (event.type === 'string.start' || event.type === 'string.delta') {
          text = event.type === 'string.start' ? '' : text + event.text
          put(event.path, text)
        }
        if (event.type === 'scalar') put(event.path, event.value)
        else if (event.type === 'object.end' || event.type === 'array.end') open.pop()
        else if (event.type === 'object.start' || event.type === 'array.start') {
          const container: Container = event.type === 'array.start' ? [] : {}
          put(event.path, container)
          open.push(container)
        }
      }
    },
    get value() {
      return value
    },
  }
}

/**
 * Follows the output of a turn that was started with the option `output`. Give it every event of the turn, from `run` or from
 * `client.follow`. It returns the output as far as the model has written it, or undefined if the event did not change it. Later events
 * modify the returned object: copy it if you want to keep it. The output is checked only when it is complete.
 */
export function createOutputReader(): (event: TurnEvent) => Json | undefined {
  let round = ''
  let json = createPartialJson()
  return (event) => {
    if (event.type !== 'lane.delta' || event.delta.marker !== 'answer' || event.delta.text === '') return undefined
    const current = roundOf(event)
    if (current !== round || event.delta.index === 0) json = createPartialJson()
    round = current
    json.push(event.delta.text)
    return json.value as Json | undefined // the reader makes nothing but JSON values
  }
}

const roundOf = ({ turn_id, iteration, attempt }: LaneEvent): string => `${turn_id} ${iteration} ${attempt}`
