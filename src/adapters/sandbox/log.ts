import { cleanOutput } from './clean-output.ts'

/** Keeps the beginning and the end of the output of a program. Memory use does not depend on how much the program writes. */
export interface OutputLog {
  add(piece: Uint8Array): void
  /** The text without terminal escapes, and how many bytes were dropped from its middle. */
  finish(): { readonly log: string; readonly logBytesDropped: number }
}

/** Keeps at most `maxBytes`. Three quarters of them are for the end of the output, where error messages are. */
export function createOutputLog(maxBytes: number): OutputLog {
  const head = createBytes(Math.floor(maxBytes / 4))
  /** The latest bytes after the head. When this buffer is full, new bytes replace the oldest bytes. */
  const tail = createBytes(maxBytes - Math.floor(maxBytes / 4))
  let tailTotal = 0

  function addToTail(piece: Uint8Array): void {
    const kept = piece.subarray(Math.max(0, piece.length - tail.size))
    tailTotal += piece.length - kept.length
    for (let at = 0; at < kept.length; ) {
      const position = tailTotal % tail.size
      const part = kept.subarray(at, at + tail.size - position)
      tail.write(part, position)
      at += part.length
      tailTotal += part.length
    }
  }

  return {
    add(piece) {
      const forHead = piece.subarray(0, head.size - head.length)
      head.write(forHead, head.length)
      if (forHead.length < piece.length) addToTail(piece.subarray(forHead.length))
    },
    finish() {
      const dropped = Math.max(0, tailTotal - tail.size)
      if (dropped === 0) return { log: cleanOutput(Buffer.concat([head.read(0), tail.read(0)]).toString()), logBytesDropped: 0 }
      const [first, last] = [head.read(0), tail.read(tailTotal % tail.size)].map((bytes) => cleanOutput(withoutCutCharacters(bytes)))
      return { log: `${first}\n[${dropped} bytes of output dropped]\n${last}`, logBytesDropped: dropped }
    },
  }
}

/** A buffer of `size` bytes that grows up to its size. Most programs write little. */
function createBytes(size: number) {
  let bytes = Buffer.alloc(Math.min(size, 4096))
  let length = 0
  return {
    size,
    get length() {
      return length
    },
    write(piece: Uint8Array, position: number): void {
      const end = position + piece.length
      if (end > bytes.length) bytes = Buffer.concat([bytes.subarray(0, length)], Math.min(size, Math.max(end, 2 * bytes.length)))
      bytes.set(piece, position)
      length = Math.max(length, end)
    },
    /** All bytes: first those from `start` to the end, then those before `start`. */
    read: (start: number): Buffer => Buffer.concat([bytes.subarray(start, length), bytes.subarray(0, start)]),
  }
}

/** Decodes a part of a text. If the first or last character was cut in two, its replacement character is left out. */
function withoutCutCharacters(bytes: Buffer): string {
  const text = bytes.toString()
  let start = 0
  let end = text.length
  while (start < Math.min(3, text.length) && text[start] === '\ufffd') start += 1
  while (end > Math.max(start, text.length - 3) && text[end - 1] === '\ufffd') end -= 1
  return text.slice(start, end)
}
