import { createJsonReader } from '../stream/json-reader.ts'

/** Facts about the keys of an action that only its text holds: a parsed object forgets repetitions and sorts number-like keys. */
export interface ActionKeys {
  /** Names of the parameters in the order of writing, repeated ones included. */
  readonly params: readonly string[]
  /** Names written more than once: keys of the action, of its call as `tool_call.…`, of its parameters as `params.…`. */
  readonly repeated: readonly string[]
}

/** Reads the keys of any action that the tolerant JSON reader can read. `scanActionKeys` is faster, for valid JSON. */
export function readActionKeys(text: string): ActionKeys {
  const collector = createKeyCollector()
  const reader = createJsonReader()
  for (const event of [...reader.push(text), ...reader.end()]) {
    const startsValue = event.type === 'scalar' || event.type.endsWith('.start')
    const key = event.path.at(-1)
    if (startsValue && typeof key === 'string') collector.add(event.path.length, event.path, key)
  }
  return collector.keys()
}

/** Sorts keys by the object they belong to. `depth` is 1 for the keys of the action itself; `path` may be longer than `depth`. */
export function createKeyCollector() {
  const action: string[] = []
  const toolCall: string[] = []
  const params: string[] = []
  return {
    add(depth: number, path: readonly (string | number | undefined)[], key: string): void {
      if (depth === 1) action.push(key)
      else if (path[0] !== 'tool_call') return
      else if (depth === 2) toolCall.push(key)
      else if (depth === 3 && path[1] === 'params') params.push(key)
    },
    keys: (): ActionKeys => ({
      params,
      repeated: [
        ...repeatedNames(action),
        ...repeatedNames(toolCall).map((key) => `tool_call.${key}`),
        ...repeatedNames(params).map((key) => `params.${key}`),
      ],
    }),
  }
}

function repeatedNames(names: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of names) (seen.has(name) ? repeated : seen).add(name)
  return [...repeated]
}
