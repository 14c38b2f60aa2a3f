import { crc32, deflateRawSync } from 'node:zlib'

/** A file or folder of an archive. The name of a folder ends with `/`. */
export interface ZipItem {
  readonly name: string
  readonly content: Uint8Array
}

const regularFile = 0o100644
const folder = 0o40755

/** Makes a ZIP archive with compressed files and with the usual permissions (644 for files, 755 for folders). */
export function writeZip(items: readonly ZipItem[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content } of items) {
    const label = Buffer.from(name)
    const packed = deflateRawSync(content)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(0x0800, 2) // the name is UTF-8
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(label.length, 22)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(((name.endsWith('/') ? folder : regularFile) << 16) >>> 0, 6)
    rest.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, rest, label)
    const entry = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, label, packed])
    parts.push(entry)
    offset += entry.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(items.length, 8)
  end.writeUInt16LE(items.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, list, end])
}
