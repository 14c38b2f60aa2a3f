import { StringDecoder } from 'node:string_decoder'
import { isObject } from '../../core/json.ts'

/** Why the output of a server is not read any further. */
export class OutputError extends Error {
  override readonly name = 'OutputError'
}

/** How many lines that are not messages a server may write. Some servers write a greeting or logs to their standard output. */
const MAX_STRAY_LINES = 100

/**
 * Reads the messages in the output of a server: one JSON object per line. Each piece of the output is read once, so the time is linear also
 * for a line that arrives in many pieces. Throws an `OutputError` if a line is too long, or if too many lines are not messages.
 */
export function createMessageReader(maxMessageBytes: number, onMessage: (message: object) => void): (piece: Uint8Array) => void {
  let decoder = new StringDecoder('utf8')
  let pieces: string[] = []
  let size = 0
  let stray = 0

  function endLine(): void {
    const line = pieces.join('') + decoder.end()
    decoder = new StringDecoder('utf8')
    pieces = []
    size = 0
    if (line.trim() === '') return
    const message = parseLine(line)
    if (isObject(message)) {
      if (isWanted(message)) onMessage(withResult(message))
      return
    }
    stray++
    if (stray > MAX_STRAY_LINES) throw new OutputError(`it wrote more than ${MAX_STRAY_LINES} lines that are no messages`)
  }

  function addToLine(piece: Uint8Array): void {
    size += piece.length
    if (size > maxMessageBytes) throw new OutputError(`it sent a message of more than ${maxMessageBytes} bytes`)
    pieces.push(decoder.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)))
  }

  return (piece) => {
    let start = 0
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      addToLine(piece.subarray(start, end))
      endLine()
      start = end + 1
    }
    if (start < piece.length) addToLine(piece.subarray(start))
  }
}

const NEWLINE = 0x0a

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/**
 * The notifications that the client reads. Other notifications, such as logs, are dropped before they reach the SDK, because a server may
 * send very many of them.
 */
const wantedNotifications: ReadonlySet<unknown> = new Set([
  'notifications/progress',
  'notifications/cancelled',
  'notifications/tools/list_changed',
])

const isWanted = ({ id, method }: { readonly [key: string]: unknown }): boolean =>
  id !== undefined || method === undefined || wantedNotifications.has(method)

/** An answer without a result becomes an error. Otherwise the SDK would drop the answer and keep waiting for one. */
function withResult(message: { readonly [key: string]: unknown }): object {
  const { id, method, result, error } = message
  if (id === undefined || method !== undefined || isObject(result) || isObject(error)) return message
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: 'it answered with something that is no result' } }
}

const INTERNAL_ERROR = -32_603

/**
 * Passes on the body of a response. If one message is too long or the connection breaks, reading the body fails, and `onBroken` is called
 * with the reason. In an event stream, a blank line ends a message. Any other body is one message.
 */
export function limitedBody(
  response: Response,
  maxMessageBytes: number,
  onBroken: (reason: string, kind: 'too large' | 'broken') => void,
): Response {
  if (!response.body) return response
  const reader = response.body.getReader()
  const count = response.headers.get('content-type')?.startsWith('text/event-stream') ? createEventCounter() : createByteCounter()
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (isCancelled) return // a cancelled stream accepts no more pieces
        if (done) return controller.close()
        if (count(value) > maxMessageBytes) throw new OutputError(`it sent a message of more than ${maxMessageBytes} bytes`)
        controller.enqueue(value)
      } catch (error) {
        if (isCancelled) return
        if (error instanceof OutputError) onBroken(error.message, 'too large')
        else onBroken('the connection to it broke', 'broken')
        controller.error(error)
        await reader.cancel().catch(() => {}) // the connection is broken anyway
      }
    },
    async cancel(reason) {
      isCancelled = true
      await reader.cancel(reason)
    },
  })
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}

/** Counts the bytes of the message that is being read. */
type Counter = (piece: Uint8Array) => number

function createByteCounter(): Counter {
  let size = 0
  return (piece) => (size += piece.length)
}

function createEventCounter(): Counter {
  let size = 0
  let last = 0
  return (piece) => {
    for (const byte of piece) {
      if (byte === CARRIAGE_RETURN) continue
      size = byte === NEWLINE && last === NEWLINE ? 0 : size + 1
      last = byte
    }
    return size
  }
}

const CARRIAGE_RETURN = 0x0d
