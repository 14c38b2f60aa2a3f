import { deflateSync } from 'node:zlib'
import type { Finding, RejectionReason, Upload } from '../../../src/tools/attachments/upload.ts'
import { chunk, gif, jpeg, png, riff, webp } from './images.ts'
import { pdf } from './pdf.ts'
import { office, zip } from './zip.ts'

interface Hostile {
  readonly what: string
  readonly upload: () => Upload
  readonly reason: RejectionReason
  readonly finding?: Finding
}

const MiB = 1024 * 1024
const html = '<html><script>alert(1)</script></html>'
const note = { name: 'note.txt', content: 'hi' }
const joined = (...parts: readonly (string | Uint8Array)[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))
const cutBy = (bytes: Buffer, count: number) => bytes.subarray(0, bytes.length - count)
const damagedAt = (bytes: Buffer, at: number) => {
  const copy = Buffer.from(bytes)
  copy.writeUInt8((copy[at] ?? 0) ^ 1, at)
  return copy
}

const file = (
  what: string,
  name: string,
  content: () => Uint8Array | string,
  finding: Finding,
  more: { readonly mime?: string } = {},
): Hostile => ({ what, upload: () => ({ name, content: content(), ...more }), reason: 'preflight_rejected', finding })

/** Files that must be rejected. Each is created when it is used, because some are large. */
export const hostile: readonly Hostile[] = [
  { what: 'an empty file', upload: () => ({ name: 'a.png', content: '' }), reason: 'empty' },
  { what: 'an image of 6 MiB', upload: () => ({ name: 'a.png', content: joined(png(), Buffer.alloc(6 * MiB)) }), reason: 'size_limit' },
  { what: 'a PDF of 11 MiB', upload: () => ({ name: 'a.pdf', content: joined('%PDF-1.7', Buffer.alloc(11 * MiB)) }), reason: 'size_limit' },
  { what: 'a text of 11 MiB', upload: () => ({ name: 'a.txt', content: 'x'.repeat(11 * MiB) }), reason: 'size_limit' },
  {
    what: 'a message of 26 MiB',
    upload: () => ({ name: 'a.docx', content: joined('PK\x03\x04', Buffer.alloc(26 * MiB)) }),
    reason: 'message_size_limit',
  },

  file('a script named as an image', 'a.png', () => '#!/bin/sh\nrm -rf /', 'type_mismatch'),
  file('a script that is declared as an image', 'a', () => '#!/bin/sh\nrm -rf /', 'type_mismatch', { mime: 'image/png' }),
  file('a PNG named as a JPEG', 'a.jpg', () => png(), 'type_mismatch'),
  file('a PDF named as a text', 'a.txt', () => pdf(['x']), 'type_mismatch'),
  file('a workbook named as a letter', 'a.docx', () => office('xlsx'), 'type_mismatch'),
  file('a program', 'a.exe', () => joined('MZ', Buffer.alloc(100)), 'unsupported_type'),
  file('a program named as an image', 'a.png', () => joined('\x7fELF', Buffer.alloc(100)), 'unsupported_type'),
  file('random bytes', 'a.bin', () => Buffer.from([1, 2, 3, 0xff, 0]), 'unsupported_type'),
  file('a text with a NUL', 'a.txt', () => 'a\0b', 'unsupported_type'),
  file('a text in Latin-1', 'a.txt', () => Buffer.from('Grüße', 'latin1'), 'unsupported_type'),
  file('incomplete UTF-16', 'a.txt', () => Buffer.from([0xff, 0xfe, 0x41]), 'unsupported_type'),
  file('an SVG, which can contain scripts', 'a.svg', () => '<svg onload="x()"/>', 'unsupported_type'),
  file('an old Office file', 'a.doc', () => Buffer.from('d0cf11e0a1b11ae100000000', 'hex'), 'unsupported_type'),
  file('a name with a right-to-left override', 'photo\u202Egnp.exe', () => png(), 'misleading_name'),

  file('a PNG without its end', 'a.png', () => cutBy(png(), 12), 'damaged'),
  file('half a PNG', 'a.png', () => cutBy(png({ width: 99, height: 99 }), 60), 'damaged'),
  file('a PNG with a wrong checksum', 'a.png', () => damagedAt(png(), 20), 'damaged'),
  file('a PNG without pixels', 'a.png', () => joined(png().subarray(0, 33), chunk('IEND')), 'damaged'),
  file('a PNG with too few pixels', 'a.png', () => joined(png({ height: 9 }).subarray(0, 33), png().subarray(33)), 'damaged'),
  file(
    'a PNG that unpacks to more than its pixels',
    'a.png',
    () => joined(png().subarray(0, 33), png({ height: 9_000 }).subarray(33)),
    'damaged',
  ),
  file(
    'a PNG with hidden data after its pixels',
    'a.png',
    () => joined(header(2, 2), chunk('IDAT', joined(deflateSync(Buffer.alloc(6)), 'hidden')), chunk('IEND')),
    'damaged',
  ),
  file('a PNG of 900 million pixels', 'a.png', () => joined(header(30_000, 30_000), chunk('IDAT'), chunk('IEND')), 'too_much_inside'),
  file('a JPEG without its end', 'a.jpg', () => cutBy(jpeg(), 2), 'damaged'),
  file('a JPEG cut within a header', 'a.jpg', () => jpeg().subarray(0, 50), 'damaged'),
  file('a JPEG that is only a beginning', 'a.jpg', () => Buffer.from([0xff, 0xd8, 0xff, 0xd9]), 'damaged'),
  file('a JPEG without pixels', 'a.jpg', () => withoutScan(jpeg()), 'damaged'),
  file('a JPEG of 4 billion pixels', 'a.jpg', () => jpeg({ width: 65_535, height: 65_535 }), 'too_much_inside'),
  file('a GIF without its end', 'a.gif', () => cutBy(gif(), 1), 'damaged'),
  file('a GIF of 4 billion pixels', 'a.gif', () => gif({ width: 65_535, height: 65_535 }), 'too_much_inside'),
  file('a GIF of 1,001 frames', 'a.gif', () => gif({ frames: 1_001 }), 'too_much_inside'),
  file('a WebP without its end', 'a.webp', () => cutBy(webp(), 3), 'damaged'),
  file('a WebP without an image', 'a.webp', () => riff('RIFF', joined('WEBP', riff('EXIF', Buffer.alloc(8)))), 'damaged'),
  file('a WebP of 268 million pixels', 'a.webp', () => webp({ width: 16_384, height: 16_384 }), 'too_much_inside'),

  file('a PNG that is also an archive', 'a.png', () => joined(png(), zip([note])), 'polyglot'),
  file('a PNG that hides an archive in a chunk', 'a.png', () => png({ extra: [chunk('teXt', zip([note]))] }), 'polyglot'),
  file('a PNG with an HTML page after it', 'a.png', () => joined(png(), html), 'polyglot'),
  file('a GIF that is also a program', 'a.gif', () => gif({ comment: '<script>alert(1)</script>' }), 'polyglot'),
  file('a program that begins as a GIF', 'a.gif', () => 'GIF89a=1;/*<script>*/alert(1)', 'polyglot'),
  file('a GIF that is also an archive', 'a.gif', () => joined(gif(), zip([note])), 'polyglot'),
  file('a JPEG that is also a PDF', 'a.jpg', () => jpeg({ comment: pdf(['x']).toString('latin1') }), 'polyglot'),
  file('a JPEG that is also an archive', 'a.jpg', () => joined(jpeg(), zip([note])), 'polyglot'),
  file('a WebP with an HTML page after it', 'a.webp', () => joined(webp(), html), 'polyglot'),
  file('a PDF that is also an archive', 'a.pdf', () => joined(pdf(['x']), zip([note])), 'polyglot'),
  file(
    'a PDF that is also an archive, by its comment',
    'a.pdf',
    () => joined('%PDF-1.7\n', zip([note], { comment: '\n%%EOF\n' })),
    'polyglot',
  ),
  file('a PDF with an HTML page after it', 'a.pdf', () => joined(pdf(['x']), html), 'polyglot'),
  file('an archive with a PDF before it', 'a.docx', () => office('docx', [], { before: pdf(['x']) }), 'polyglot'),

  file('a PDF without its end', 'a.pdf', () => cutBy(pdf(['x']), 8), 'damaged'),
  file('a PDF that is only a header', 'a.pdf', () => '%PDF-1.7\n%%EOF', 'damaged'),
  file('a PDF with a password', 'a.pdf', () => pdf(['x'], { trailer: '/Encrypt 99 0 R ' }), 'encrypted'),
  file('a PDF that was changed six times', 'a.pdf', () => joined(pdf(['x']), '%%EOF\n'.repeat(6)), 'too_much_inside'),
  file('a PDF of 100,001 objects', 'a.pdf', () => joined('%PDF-1.7\n', '1 0 obj\n'.repeat(100_001), '%%EOF'), 'too_much_inside'),
  file(
    'a PDF that declares as many packed objects',
    'a.pdf',
    () => pdf(['x'], { extra: ['<< /Type /ObjStm /N 99999999 /First 0 >>'] }),
    'too_much_inside',
  ),
  file('a PDF of 2,001 object streams', 'a.pdf', () => joined('%PDF-1.7\n', '/ObjStm '.repeat(2_001), '%%EOF'), 'too_much_inside'),
  file('a PDF that declares a gigabyte', 'a.pdf', () => pdf(['x'], { extra: ['<< /Length 1073741824 >>'] }), 'too_much_inside'),
  file('a PDF of 501 pages', 'a.pdf', () => pdf(new Array(501).fill('x')), 'too_much_inside'),

  file('an archive', 'a.zip', () => zip([note]), 'archive'),
  file('an archive named as a document', 'a.docx', () => zip([note]), 'archive'),
  file('an empty archive', 'a.docx', () => zip([]), 'archive'),
  file('a document with macros', 'a.docm', () => office('docx', [{ name: 'word/vbaProject.bin', content: 'x' }]), 'macros'),
  file(
    'a document with macros under another name',
    'a.docx',
    () => office('docx', [], { type: 'application/vnd.ms-word.document.macroEnabled.main+xml' }),
    'macros',
  ),
  file('a workbook with macro sheets', 'a.xlsx', () => office('xlsx', [{ name: 'xl/macrosheets/sheet1.xml', content: '<a/>' }]), 'macros'),
  file('a document with an archive in it', 'a.docx', () => office('docx', [{ name: 'word/media/x.zip', content: 'x' }]), 'archive'),
  file(
    'a document with a disguised archive in it',
    'a.docx',
    () => office('docx', [{ name: 'word/media/x.png', content: zip([note]) }]),
    'archive',
  ),
  file('a document of 10,000 files', 'a.docx', () => office('docx', many(10_000)), 'too_much_inside'),
  file(
    'a document of 121 MiB',
    'a.docx',
    () => office('docx', [{ name: 'word/big.xml', content: Buffer.alloc(121 * MiB) }]),
    'too_much_inside',
  ),
  file(
    'a document that unpacks a thousandfold',
    'a.docx',
    () => office('docx', [{ name: 'word/big.xml', content: Buffer.alloc(9 * MiB) }]),
    'too_much_inside',
  ),
  file(
    'a bomb that says it is small',
    'a.docx',
    () => office('docx', [{ name: 'word/b.xml', content: Buffer.alloc(9 * MiB), size: 100 }]),
    'too_much_inside',
  ),
  file(
    'a file that says it is larger than it is',
    'a.docx',
    () => office('docx', [{ name: 'word/b.xml', content: 'x', size: 100 }]),
    'damaged',
  ),
  file('files that share their bytes', 'a.docx', () => office('docx', overlapping()), 'damaged'),
  file('a file within another', 'a.docx', () => office('docx', nested()), 'damaged'),
  file('two files of one name', 'a.docx', () => office('docx', [{ name: 'WORD/document.xml', content: '<other/>' }]), 'damaged'),
  file('an archive with something before it', 'a.docx', () => office('docx', [], { before: Buffer.from('PK\x03\x04 junk') }), 'damaged'),
  file('an archive with something behind it', 'a.docx', () => joined(office('docx'), 'junk'), 'damaged'),
  file('a directory that counts wrong', 'a.docx', () => office('docx', [], { count: 2 }), 'damaged'),
  file('a document without its end', 'a.docx', () => cutBy(office('docx'), 30), 'damaged'),
  file('a file that leads out of its archive', 'a.docx', () => office('docx', [{ name: '../../etc/passwd', content: 'x' }]), 'damaged'),
  file('a document with a password', 'a.docx', () => office('docx', [{ name: 'word/x.xml', content: 'x', flags: 1 }]), 'encrypted'),
  file(
    'a document template',
    'a.docx',
    () => office('docx', [], { type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml' }),
    'unsupported_type',
  ),
]

function header(width: number, height: number): Buffer {
  const body = Buffer.alloc(13)
  body.writeUInt32BE(width, 0)
  body.writeUInt32BE(height, 4)
  body.set([8, 0, 0, 0, 0], 8)
  return joined(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', body))
}

const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `word/${index}.xml`, content: '', stored: true }))

const overlapping = () => [
  { name: 'word/a.xml', content: 'a'.repeat(50_000) },
  ...Array.from({ length: 20 }, () => ({ name: 'word/a.xml', content: 'a'.repeat(50_000), sharedWith: 3 })),
]

/** Two entries of a ZIP archive. The bytes of the second are inside the first, and both can be unpacked. */
function nested() {
  const inner = { name: 'word/b.xml', content: '<b/>' }
  const packed = zip([inner])
  return [
    { name: 'word/a.xml', content: packed.subarray(0, packed.indexOf('PK\x01\x02')), stored: true },
    { ...inner, inside: 3 },
  ]
}

const withoutScan = (bytes: Buffer) => joined(bytes.subarray(0, bytes.indexOf(Buffer.from([0xff, 0xda]))), Buffer.from([0xff, 0xd9]))
