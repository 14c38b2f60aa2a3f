import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { examine } from './examine.ts'

/** Builds a ZIP archive: local headers, directory, end record. */
function zipOf(files: Readonly<Record<string, string>>, method: 0 | 8 = 8): Buffer {
  const [bodies, directory]: [Buffer[], Buffer[]] = [[], []]
  let offset = 0
  for (const [name, text] of Object.entries(files)) {
    const data = method === 8 ? deflateRawSync(Buffer.from(text)) : Buffer.from(text)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(method, 8)
    local.writeUInt32LE(data.length, 18)
    local.writeUInt32LE(text.length, 22)
    local.writeUInt16LE(name.length, 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(method, 10)
    entry.writeUInt32LE(data.length, 20)
    entry.writeUInt32LE(text.length, 24)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(offset, 42)
    bodies.push(local, Buffer.from(name), data)
    directory.push(entry, Buffer.from(name))
    offset += local.length + name.length + data.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 8)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, central, end])
}

const pdf = (size: number) => Buffer.from(`%PDF-1.7\n${'x'.repeat(size)}\n%%EOF\n`)
const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1])
const workbook = (sheets: string, padding = 'x') =>
  zipOf({ 'xl/workbook.xml': `<workbook><sheets>${sheets}</sheets></workbook>`, padding }, 0)
const noise = Array.from({ length: 2_500 }, (_, i) => String.fromCharCode(33 + ((i * i * 7) % 90))).join('')

describe('examine', () => {
  it.each([
    ['report.md', undefined, { problem: 'file_not_found' }],
    ['report.md', '', { problem: 'empty_file' }],
    ['report.md', 'text', {}],
    ['data.json', '{"a":1}', {}],
    ['data.json', '{"a":', { problem: 'json_invalid' }],
    ['a.pdf', pdf(600), {}],
    ['a.pdf', pdf(200), { warning: 'file_unusually_small' }],
    ['a.pdf', 'x'.repeat(600), { problem: 'pdf_invalid' }],
    ['a.pdf', pdf(600).subarray(0, 400), { problem: 'pdf_invalid', warning: 'file_unusually_small' }],
    ['a.PNG', png, {}],
    ['a.png', 'GIF89a', { problem: 'png_invalid' }],
    ['a.jpg', Buffer.from([0xff, 0xd8, 0xff, 0xe0]), {}],
    ['a.jpeg', png, { problem: 'jpeg_invalid' }],
    ['a.zip', zipOf({ a: 'b' }), {}],
    ['a.zip', 'PK', { problem: 'zip_invalid' }],
    ['a.zip', zipOf({ a: 'b' }).fill(0, 31, 60), { problem: 'zip_invalid' }],
    ['a.docx', zipOf({ 'word/document.xml': noise }, 0), {}],
    ['a.docx', zipOf({ 'word/other.xml': noise }, 0), { problem: 'docx_invalid' }],
    ['a.pptx', zipOf({ 'ppt/presentation.xml': noise }, 0), {}],
    ['a.pptx', zipOf({ 'ppt/presentation.xml': 'x' }), { warning: 'file_unusually_small' }],
    ['a.pptx', 'no', { problem: 'pptx_invalid', warning: 'file_unusually_small' }],
    ['a.xlsx', workbook('<sheet name="A" sheetId="1"/>', noise), {}],
    [
      'a.xlsx',
      workbook('<sheet name="A" state="hidden"/><sheet name="B" state="veryHidden"/>', noise),
      { problem: 'xlsx_no_visible_sheets' },
    ],
    ['a.xlsx', zipOf({ other: noise }, 0), { problem: 'xlsx_open_failed' }],
  ])('checks %s (%#)', (name, bytes, expected) => {
    expect(examine(name, typeof bytes === 'string' ? Buffer.from(bytes) : bytes)).toEqual(expected)
  })

  it('takes linear time for a workbook with very many tags that are not closed', () => {
    const bytes = zipOf({ 'xl/workbook.xml': '<sheet '.repeat(500_000) })
    expect(examine('a.xlsx', bytes).problem).toBe('xlsx_no_visible_sheets')
  })

  it('never throws for damaged archives', () => {
    for (let seed = 0; seed < 300; seed++) {
      const bytes = Buffer.from(zipOf({ 'xl/workbook.xml': '<sheet name="A"/>' }))
      for (let n = 0; n < 4; n++) bytes[(seed * 131 + n * 977) % bytes.length] = (seed * 17 + n) % 256
      for (const name of ['a.zip', 'a.xlsx', 'a.docx']) expect(() => examine(name, bytes)).not.toThrow()
    }
  })
})
