import { pipeline, type Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib'

/** The body is larger than the limit, or it expands so much that it is probably an attack on the memory. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/**
 * If decompressing makes a body more than this many times larger, the body is refused, once it is longer than `ratioFreeBytes`. Compressed
 * text rarely grows by more than a factor of 20.
 */
const maxRatio = 200
const ratioFreeBytes = 1024 * 1024

/** The encodings that a request accepts. */
export const acceptedEncodings = 'gzip, deflate, br, zstd'

/**
 * Reads a body and decompresses it while it arrives. Throws `TooLarge` as soon as the received or the decompressed body is larger than
 * `maxBytes`, or grows too much when it is decompressed. So a hostile body can not fill the memory.
 */
export async function readBody(stream: Readable, encoding: string | undefined, maxBytes: number): Promise<Uint8Array> {
  const counter = { received: 0 }
  const counted = new Transform({
    transform(piece: Buffer, _, done) {
      counter.received += piece.length
      done(counter.received > maxBytes ? new TooLarge(tooLargeText(maxBytes)) : null, piece)
    },
  })
  const decoders = await decodersFor(encoding, stream, counted)
  const body = decoders.at(-1) ?? counted
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > maxBytes) throw new TooLarge(tooLargeText(maxBytes))
    if (length > ratioFreeBytes && length > counter.received * maxRatio)
      throw new TooLarge(`the body grows to more than ${maxRatio} times its size when it is decompressed`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces, length)
}

const tooLargeText = (maxBytes: number) => `the body is larger than ${maxBytes} bytes`

type Decoder = () => Transform

const decoderOf: Readonly<Record<string, Decoder>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
}

/** Connects the stream with a decoder for each encoding. The header lists the encodings in the order in which the sender applied them. */
async function decodersFor(header: string | undefined, stream: Readable, counted: Transform): Promise<readonly Transform[]> {
  const names = (header ?? '')
    .toLowerCase()
    .split(',', 4)
    .map((name) => name.trim())
  const wanted = names.filter((name) => name !== '' && name !== 'identity').reverse()
  if (wanted.length > 2) throw new Error('the body is compressed more than twice')
  // nothing to do here: an error of one stream destroys all streams, and the loop that reads the last stream throws the error
  const done = () => {}
  if (wanted.length === 0) {
    pipeline(stream, counted, done)
    return []
  }
  const decoders: Transform[] = []
  for (const [index, name] of wanted.entries()) {
    const create = name === 'deflate' && index === 0 ? await deflateDecoder(stream) : name === 'deflate' ? createInflate : decoderOf[name]
    if (!create) throw new Error('the body has an encoding that is not supported')
    decoders.push(create())
  }
  pipeline([stream, counted, ...decoders], done)
  return decoders
}

/**
 * Some servers send `deflate` with the header of zlib, as the standard says, and some without it. The first byte shows whether the header
 * is there.
 */
async function deflateDecoder(stream: Readable): Promise<Decoder> {
  const first = await firstByte(stream)
  return first === undefined || (first & 0x0f) === 8 ? createInflate : createInflateRaw
}

function firstByte(stream: Readable): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const piece = stream.read() as Buffer | null
      if (piece === null) return
      stop()
      stream.unshift(piece)
      resolve(piece[0])
    }
    const end = () => {
      stop()
      resolve(undefined)
    }
    const fail = (error: Error) => {
      stop()
      reject(error)
    }
    const stop = () => void stream.off('readable', look).off('end', end).off('error', fail)
    stream.on('readable', look).on('end', end).on('error', fail)
  })
}
