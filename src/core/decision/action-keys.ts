import { createJsonReader } from '../stream/json/reader.ts'

/**
 * Information about the keys of an action that is in the text of the action but not in the parsed object. The parsed object has each key
 * only once, and its numeric keys come first.
 */
export interface ActionKeys {
  /** The names of the parameters in the order in which the model wrote them. A name that was written twice is listed twice. */
  readonly params: readonly string[]
  /**
   * The names of the parameters of each call in the list `tool_calls`. Undefined when the action has no such list, or when no call in the
   * list has keys.
   */
  readonly listed?: readonly (readonly string[])[]
  /**
   * The keys that were written more than once in their object. Keys of the tool call have the prefix `tool_call.`, and parameters have the
   * prefix `params.`. In a list of calls, the prefix also has the index, for example `tool_calls[1].params.`.
   */
  readonly repeated: readonly string[]
}

/**
 * Reads the keys of an action from its text. The text may have all the mistakes that `createJsonReader` tolerates. For valid JSON,
 * `scanActionKeys` is faster.
 */
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
 * Collects the keys of an action, of its tool calls and of their parameters. `add` is called for each key, with the path to it. `depth` is
 * the length of the path, so it is 1 for the keys of the action itself. The list `path` may be longer, but only its first `depth` items are
 * used.
 */
export function createKeyCollector() {
  const action: string[] = []
  const toolCall: string[] = []
  const params: string[] = []
  const listed: { readonly call: string[]; readonly params: string[] }[] = []

  function addListed(depth: number, path: readonly (string | number | undefined)[], key: string): void {
    const index = path[1]
    if (typeof index !== 'number' || index >= maxListed || depth < 3 || depth > 4) return
    while (listed.length <= index) listed.push({ call: [], params: [] })
    if (depth === 3) listed[index]?.call.push(key)
    else if (path[2] === 'params') listed[index]?.params.push(key)
  }

  return {
    add(depth: number, path: readonly (string | number | undefined)[], key: string): void {
      if (depth === 1) action.push(key)
      else if (path[0] === 'tool_calls') addListed(depth, path, key)
      else if (path[0] !== 'tool_call') return
      else if (depth === 2) toolCall.push(key)
      else if (depth === 3 && path[1] === 'params') params.push(key)
    },
    keys: (): ActionKeys => ({
      params,
      ...(listed.length > 0 && { listed: listed.map((call) => call.params) }),
      repeated: [
        ...repeatedNames(action),
        ...repeatedNames(toolCall).map((key) => `tool_call.${key}`),
        ...repeatedNames(params).map((key) => `params.${key}`),
        ...listed.flatMap((call, index) => [
          ...repeatedNames(call.call).map((key) => `tool_calls[${index}].${key}`),
          ...repeatedNames(call.params).map((key) => `tool_calls[${index}].params.${key}`),
        ]),
      ],
    }),
  }
}

/** The greatest number of calls whose keys are collected. A response is rejected if it has more than `maxCalls` calls, which are fewer. */
const maxListed = 64

function repeatedNames(names: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const name of names) (seen.has(name) ? repeated : seen).add(name)
  return [...repeated]
}
