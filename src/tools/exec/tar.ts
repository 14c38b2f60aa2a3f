/** An entry of a tar archive, or `damaged` when the rest of the archive can not be read. */
export type TarEntry = { readonly name: string; readonly type: 'file' | 'folder' | 'link' | 'device'; readonly link: string } | 'damaged'

const blockSize = 512
/** The greatest length of a name. Long names are stored as the content of separate entries. Content that is longer is not a name. */
const maxNameBytes = 64 * 1024

/**
 * Reads the names and types of the entries of a tar archive. The content of files is skipped. An archive is a list of blocks of 512 bytes:
 *
 *   header, content, header, content, …, two empty blocks
 */
export async function* readTar(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const reader = createBlockReader(chunks)
  let [longName, longLink] = ['', '']
  for (;;) {
    const header = await reader.read(blockSize)
    if (header === undefined || header.every((byte) => byte === 0)) break
    if (header.length < blockSize || !hasValidChecksum(header)) return yield 'damaged'
    const size = readNumber(header.subarray(124, 136))
    const padded = size === undefined ? undefined : Math.ceil(size / blockSize) * blockSize
    if (size === undefined || padded === undefined) return yield 'damaged'
    const flag = String.fromCharCode(header[156] ?? 0)
    if ((flag === 'L' || flag === 'K' || flag === 'x') && size > maxNameBytes) return yield 'damaged'
    if (flag === 'L' || flag === 'K' || flag === 'x') {
      const content = await reader.read(padded)
      if (content === undefined || content.length < size) return yield 'damaged'
      if (flag === 'L') longName = textOf(content.subarray(0, size))
      else if (flag === 'K') longLink = textOf(content.subarray(0, size))
      else ({ path: longName = longName, linkpath: longLink = longLink } = readRecords(content.subarray(0, size)))
      continue
    }
    if (flag !== 'g') {
      yield { name: longName || shortName(header), type: typeOf(flag), link: longLink || textOf(header.subarray(157, 257)) }
      longName = ''
      longLink = ''
    }
    if (!(await reader.skip(padded))) return yield 'damaged'
  }
  await reader.drain()
}

function typeOf(flag: string): Exclude<TarEntry, 'damaged'>['type'] {
  if (flag === '1' || flag === '2') return 'link'
  if (flag === '3' || flag === '4' || flag === '6') return 'device'
  return flag === '5' ? 'folder' : 'file'
}

function shortName(header: Buffer): string {
  const prefix = textOf(header.subarray(345, 500))
  const name = textOf(header.subarray(0, 100))
  return prefix === '' ? name : `${prefix}/${name}`
}

function textOf(field: Buffer): string {
  const end = field.indexOf(0)
  return field.subarray(0, end < 0 ? field.length : end).toString('utf8')
}

/** A number of a header: octal digits, or binary if the first bit is set. Undefined when it is neither or too large. */
function readNumber(field: Buffer): number | undefined {
  if (((field[0] ?? 0) & 0x80) !== 0) {
    const value = field.subarray(4).readBigUInt64BE()
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined
  }
  const digits = textOf(field).trim()
  if (digits === '') return 0
  return /^[0-7]{1,12}$/.test(digits) ? Number.parseInt(digits, 8) : undefined
}

function hasValidChecksum(header: Buffer): boolean {
  let sum = 0
  for (let at = 0; at < blockSize; at++) sum += at >= 148 && at < 156 ? 32 : (header[at] ?? 0)
  return readNumber(header.subarray(148, 156)) === sum
}

/** The values of `path` and `linkpath` in an extended header. It has records of the form `<length> <key>=<value>\n`. */
function readRecords(content: Buffer): { readonly path?: string; readonly linkpath?: string } {
  const found: { path?: string; linkpath?: string } = {}
  for (let at = 0; at < content.length; ) {
    const length = Number.parseInt(content.toString('latin1', at, at + 10), 10)
    if (!(length > 0)) break
    const record = content.toString('utf8', at, at + length - 1)
    const key = record.slice(record.indexOf(' ') + 1, record.indexOf('='))
    if (key === 'path' || key === 'linkpath') found[key] = record.slice(record.indexOf('=') + 1)
    at += length
  }
  return found
}

/** Reads or skips bytes of a stream. */
function createBlockReader(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  const iterator = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]()
  let held = Buffer.alloc(0)

  async function more(): Promise<boolean> {
    const next = await iterator.next()
    if (next.done) return false
    held = held.length === 0 ? Buffer.from(next.value) : Buffer.concat([held, next.value])
    return true
  }

  return {
    /** The next `size` bytes, or fewer bytes if the stream ends earlier. Undefined at the end of the stream. */
    async read(size: number): Promise<Buffer | undefined> {
      while (held.length < size && (await more()));
      if (held.length === 0) return undefined
      const taken = held.subarray(0, size)
      held = held.subarray(taken.length)
      return taken
    },
    /** Skips `size` bytes. Returns false when the stream ends earlier. */
    async skip(size: number): Promise<boolean> {
      let left = size
      for (;;) {
        const skipped = Math.min(left, held.length)
        held = held.subarray(skipped)
        left -= skipped
        if (left === 0) return true
        if (!(await more())) return false
      }
    },
    /** Reads the rest of the stream, so that damage after the last entry is found. */
    async drain(): Promise<void> {
      for (held = Buffer.alloc(0); await more(); held = Buffer.alloc(0));
    },
  }
}
