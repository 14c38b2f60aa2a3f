import { createJsonReader } from '../stream/json-reader.ts'

/** What only the text of an action tells about its keys. A parsed object forgets repeated keys and lists number-like keys first. */
export interface ActionKeys {
  /** The names of the parameters in the order in which the model wrote them. A repeated name is listed each time. */
  readonly params: readonly string[]
  /** The keys that were written more than once in their object. Keys of the call start with `tool_call.`, parameters with `params.`. */
  readonly repeated: readonly string[]
}

/** Reads the keys of any action that the tolerant JSON reader can read. For valid JSON, `scanActionKeys` is faster. */
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

/**
 * Collects keys by the object to which they belong. `depth` is 1 for the keys of the action itself. Only the first `depth` steps of
 * `path` count.
 */
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
