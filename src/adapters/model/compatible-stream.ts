import { isObject, type JsonObject, parseJson } from '../../core/json.ts'

/**
 * Calls a server with chat completions, and corrects what it streams. The package of the AI SDK refuses a whole response if one of its
 * chunks does not have exactly the documented form. Many servers deviate from this form:
 *
 *   arguments of a call as an object, ids as numbers, indexes as texts    are written in the documented form
 *   events of other kinds, chunks without choices                         are left out
 *   counts of tokens that are not numbers                                 are left out
 *   no finish reason before `[DONE]`                                      is added
 *
 * Everything else, such as errors and text that is not JSON, stays as it is.
 */
export const fetchCompatible: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const isStream = response.headers.get('content-type')?.includes('text/event-stream')
  if (!response.ok || !response.body || !isStream) return response
  const { status, statusText, headers } = response
  const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(correctLines()).pipeThrough(new TextEncoderStream())
  return new Response(body, { status, statusText, headers })
}

/** Splits a text into lines and corrects each line. */
function correctLines(): TransformStream<string, string> {
  const correctLine = createCorrector()
  let held = ''
  return new TransformStream({
    transform(piece, controller) {
      const end = piece.lastIndexOf('\n') + 1
      if (end === 0) {
        held += piece
        return
      }
      const lines = (held + piece.slice(0, end)).split('\n')
      held = piece.slice(end)
      lines.pop() // `split` gives an empty text after the last line break
      controller.enqueue(lines.map((line) => `${correctLine(line)}\n`).join(''))
    },
    flush(controller) {
      if (held !== '') controller.enqueue(correctLine(held))
    },
  })
}

const field = 'data:'
const done = '[DONE]'

/** Corrects the lines of one response. */
function createCorrector(): (line: string) => string {
  let hasOutput = false
  let hasCalls = false
  let finished = false

  function correctChunk(chunk: JsonObject): JsonObject | undefined {
    if ('error' in chunk) return chunk
    const choices = Array.isArray(chunk.choices) ? chunk.choices.filter(isObject) : []
    const usage = isObject(chunk.usage) ? { usage: onlyNumbers(chunk.usage) } : {}
    if (choices.length === 0 && !('usage' in usage)) return undefined
    for (const { delta, finish_reason: reason } of choices as readonly JsonObject[]) {
      hasOutput ||= isObject(delta) && Object.keys(delta).length > 0
      hasCalls ||= isObject(delta) && Array.isArray(delta.tool_calls) && delta.tool_calls.length > 0
      finished ||= typeof reason === 'string'
    }
    const { usage: _, ...rest } = chunk
    return { ...rest, choices: (choices as readonly JsonObject[]).map(correctChoice), ...usage }
  }

  return (line) => {
    if (!line.startsWith(field)) return line
    const data = line.slice(field.length).trim()
    if (data === done) return finished || !hasOutput ? line : `${dataLine(lastChunk(hasCalls))}\n\n${line}`
    const value = parseJson(data)
    if (!isObject(value)) return line
    const corrected = correctChunk(value as JsonObject)
    return corrected ? dataLine(corrected) : ': an event of another kind'
  }
}

const dataLine = (value: JsonObject): string => `${field} ${JSON.stringify(value)}`

const lastChunk = (hasCalls: boolean): JsonObject => ({
  choices: [{ index: 0, delta: {}, finish_reason: hasCalls ? 'tool_calls' : 'stop' }],
})

function correctChoice({ delta, ...choice }: JsonObject): JsonObject {
  if (!isObject(delta)) return choice
  const calls = (delta as JsonObject).tool_calls
  return {
    ...choice,
    delta: Array.isArray(calls) ? { ...delta, tool_calls: calls.filter(isObject).map(correctCall) } : (delta as JsonObject),
  }
}

function correctCall(value: object): JsonObject {
  const call = value as JsonObject // the value was parsed from JSON
  const { id, index } = call
  const called = isObject(call.function) ? (call.function as JsonObject) : undefined
  return {
    ...call,
    ...(typeof id === 'number' && { id: String(id) }),
    ...(typeof index === 'string' && { index: Number(index) }),
    ...(isObject(called?.arguments) && { function: { ...called, arguments: JSON.stringify(called.arguments) } }),
  }
}

/** The counts of tokens, without values that are not numbers. */
function onlyNumbers(counts: object): JsonObject {
  const kept = Object.entries(counts).filter(([, value]) => isObject(value) || typeof value === 'number')
  return Object.fromEntries(kept.map(([name, value]) => [name, isObject(value) ? onlyNumbers(value) : value]))
}
