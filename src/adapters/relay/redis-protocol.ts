/** A value that Redis sends (RESP2). An error of Redis is an `Error`. */
export type RedisReply = string | number | null | Error | readonly RedisReply[]

const MAX_TEXT = 1024 * 1024
const MAX_LIST = 1_000
const MAX_DEPTH = 4

/** Writes a command. */
export const formatCommand = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`

/** Reads replies from pieces of bytes. Throws if the bytes do not follow the protocol of Redis, or if a reply is too large. */
export function createReplyReader(onReply: (reply: RedisReply) => void): (piece: Buffer) => void {
  let bytes: Buffer = Buffer.alloc(0)
  return (piece) => {
    bytes = bytes.length === 0 ? piece : Buffer.concat([bytes, piece])
    let start = 0
    for (let next = readReply(bytes, start, 0); next; next = readReply(bytes, start, 0)) {
      start = next.end
      onReply(next.reply)
    }
    bytes = bytes.subarray(start)
    if (bytes.length > 2 * MAX_TEXT) throw new Error('a reply of Redis is too large')
  }
}

interface ReadReply {
  readonly reply: RedisReply
  /** Where the next reply begins. */
  readonly end: number
}

/** Reads the reply that begins at `start`. Undefined if a part of it has not arrived. */
function readReply(bytes: Buffer, start: number, depth: number): ReadReply | undefined {
  const lineEnd = bytes.indexOf('\r\n', start)
  if (lineEnd < 0) return undefined
  const line = bytes.toString('utf8', start + 1, lineEnd)
  const end = lineEnd + 2
  switch (bytes[start]) {
    case 0x2b: // +
      return { reply: line, end }
    case 0x2d: // -
      return { reply: new Error(line), end }
    case 0x3a: // :
      return { reply: numberOf(line), end }
    case 0x24: // $
      return readText(bytes, end, numberOf(line))
    case 0x2a: // *
      return readList(bytes, end, numberOf(line), depth)
    default:
      throw new Error('the server does not speak the protocol of Redis')
  }
}

function readText(bytes: Buffer, start: number, length: number): ReadReply | undefined {
  if (length === -1) return { reply: null, end: start }
  if (length < 0 || length > MAX_TEXT) throw new Error('a reply of Redis is too large')
  const end = start + length + 2
  return bytes.length < end ? undefined : { reply: bytes.toString('utf8', start, start + length), end }
}

function readList(bytes: Buffer, start: number, length: number, depth: number): ReadReply | undefined {
  if (length === -1) return { reply: null, end: start }
  if (length < 0 || length > MAX_LIST || depth >= MAX_DEPTH) throw new Error('a reply of Redis is too large')
  const list: RedisReply[] = []
  let end = start
  for (let index = 0; index < length; index++) {
    const next = readReply(bytes, end, depth + 1)
    if (!next) return undefined
    list.push(next.reply)
    end = next.end
  }
  return { reply: list, end }
}

function numberOf(text: string): number {
  const number = Number(text)
  if (text === '' || !Number.isSafeInteger(number)) throw new Error('the server does not speak the protocol of Redis')
  return number
}
