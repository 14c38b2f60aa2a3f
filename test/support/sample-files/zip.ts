import { crc32, deflateRawSync } from 'node:zlib'

/** A file in an archive. By default its headers are correct. */
export interface Zipped {
  readonly name: string
  readonly content: string | Uint8Array
  readonly stored?: boolean
  /** Values that the headers of the file contain in place of the correct ones. */
  readonly size?: number
  readonly flags?: number
  /**
   * The index of an earlier file. This file then has no data of its own. Its offset is that of the earlier file, or is `inside` its bytes.
   */
  readonly sharedWith?: number
  readonly inside?: number
}

export interface ZipLies {
  readonly before?: Uint8Array
  readonly comment?: string
  readonly count?: number
}

export function zip(files: readonly Zipped[], { before = new Uint8Array(), comment = '', count = files.length }: ZipLies = {}): Buffer {
  const parts: Buffer[] = [Buffer.from(before)]
  const directory: Buffer[] = []
  const places: number[] = []
  const contents: number[] = []
  let at = before.length
  for (const { name, content, stored = false, flags = 0, sharedWith, inside, ...said } of files) {
    const bytes = Buffer.from(content)
    const packed = stored ? bytes : deflateRawSync(bytes)
    const label = Buffer.from(name)
    const about = Buffer.alloc(26)
    about.writeUInt16LE(20, 0)
    about.writeUInt16LE(flags, 2)
    about.writeUInt16LE(stored ? 0 : 8, 4)
    about.writeUInt32LE(crc32(bytes), 10)
    about.writeUInt32LE(packed.length, 14)
    about.writeUInt32LE(said.size ?? bytes.length, 18)
    about.writeUInt16LE(label.length, 22)
    const tail = Buffer.alloc(14)
    const place = inside !== undefined ? (contents[inside] ?? 0) : sharedWith !== undefined ? (places[sharedWith] ?? 0) : at
    tail.writeUInt32LE(place, 10)
    places.push(at)
    contents.push(at + 30 + label.length)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), about, tail, label)
    if (sharedWith !== undefined || inside !== undefined) continue
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), about, label, packed])
    parts.push(local)
    at += local.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(at, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...parts, listed, end, Buffer.from(comment)])
}

const mains = {
  docx: { part: 'word/document.xml', type: 'wordprocessingml.document' },
  xlsx: { part: 'xl/workbook.xml', type: 'spreadsheetml.sheet' },
  pptx: { part: 'ppt/presentation.xml', type: 'presentationml.presentation' },
} as const

/** A minimal Office document of this type, with additional files. */
export function office(kind: keyof typeof mains, more: readonly Zipped[] = [], lies: ZipLies & { readonly type?: string } = {}): Buffer {
  const { part, type } = mains[kind]
  const main = lies.type ?? `application/vnd.openxmlformats-officedocument.${type}.main+xml`
  const types = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/${part}" ContentType="${main}"/></Types>`
  const relation = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument'
  const relations = `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${relation}" Target="${part}"/></Relationships>`
  const files = [
    { name: '[Content_Types].xml', content: types },
    { name: '_rels/.rels', content: relations },
    { name: part, content: '<?xml version="1.0"?><main/>' },
  ]
  return zip([...files, ...more], lies)
}
