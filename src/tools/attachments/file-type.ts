import { bufferOf, hasBytesAt, viewOf } from '../bytes.ts'
import { decodeText, detectCharset as markedCharset } from '../mime.ts'
import { endOfZip } from '../zip.ts'
import { type OfficeKind, officeMimes } from './office.ts'
import { extensionOf } from './upload.ts'

/** What bytes are, by how they begin. Whether they are a whole and harmless one of those is another question. */
export type FileSignature = 'png' | 'jpeg' | 'gif' | 'webp' | 'pdf' | 'zip'

export function detectSignature(bytes: Uint8Array): FileSignature | undefined {
  if (hasBytesAt(bytes, 0, '\x89PNG\r\n\x1a\n')) return 'png'
  if (hasBytesAt(bytes, 0, '\xff\xd8\xff')) return 'jpeg'
  if (hasBytesAt(bytes, 0, 'GIF87a') || hasBytesAt(bytes, 0, 'GIF89a')) return 'gif'
  if (hasBytesAt(bytes, 0, 'RIFF') && hasBytesAt(bytes, 8, 'WEBP')) return 'webp'
  if (hasBytesAt(bytes, 0, '%PDF-')) return 'pdf'
  if (hasBytesAt(bytes, 0, 'PK\x03\x04') || hasBytesAt(bytes, 0, 'PK\x05\x06')) return 'zip'
  return undefined
}

/** Files that are known and not taken, and what to send in their place. */
const refusedSignatures: readonly (readonly [at: number, signature: string, words: string])[] = [
  [0, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'is an old or a protected Office document. Save it as DOCX, XLSX or PPTX without a password'],
  [0, 'MZ', 'is a program, and programs are not taken'],
  [0, '\x7fELF', 'is a program, and programs are not taken'],
  [0, '\xca\xfe\xba\xbe', 'is a program, and programs are not taken'],
  [0, '\xcf\xfa\xed\xfe', 'is a program, and programs are not taken'],
  [0, 'Rar!', 'is an archive, and archives are not opened. Send the files themselves'],
  [0, '7z\xbc\xaf', 'is an archive, and archives are not opened. Send the files themselves'],
  [0, '\x1f\x8b', 'is an archive, and archives are not opened. Send the files themselves'],
  [0, 'BZh', 'is an archive, and archives are not opened. Send the files themselves'],
  [257, 'ustar', 'is an archive, and archives are not opened. Send the files themselves'],
  [4, 'ftyphei', 'is a HEIC picture. Send it as JPEG or PNG'],
  [4, 'ftypavif', 'is an AVIF picture. Send it as JPEG or PNG'],
  [0, 'II*\0', 'is a TIFF picture. Send it as JPEG or PNG'],
  [0, 'MM\0*', 'is a TIFF picture. Send it as JPEG or PNG'],
  [0, 'BM', 'is a BMP picture or unknown. Send pictures as JPEG or PNG'],
]

/** For bytes that are neither sniffed nor text. */
export const unknownTypeRefusal = (bytes: Uint8Array): string =>
  refusedSignatures.find(([at, signature]) => hasBytesAt(bytes, at, signature))?.[2] ??
  'is of no type that is understood. Send JPEG, PNG, GIF, WebP, PDF, DOCX, XLSX, PPTX, or text in UTF-8'

/** What a file can turn out to be. */
export type FileKind = Exclude<FileSignature, 'zip'> | OfficeKind | 'text'

export const kindNames: { readonly [K in FileKind]: string } = {
  png: 'a PNG picture',
  jpeg: 'a JPEG picture',
  gif: 'a GIF picture',
  webp: 'a WebP picture',
  pdf: 'a PDF document',
  docx: 'a Word document',
  xlsx: 'an Excel workbook',
  pptx: 'a PowerPoint presentation',
  text: 'text',
}

const kindByMime: ReadonlyMap<string, FileKind> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/jpg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['application/pdf', 'pdf'],
  [officeMimes.docx, 'docx'],
  [officeMimes.xlsx, 'xlsx'],
  [officeMimes.pptx, 'pptx'],
  ['application/json', 'text'],
  ['application/xml', 'text'],
  ['application/yaml', 'text'],
  ['application/javascript', 'text'],
  ['video/mp2t', 'text'], // what browsers say of TypeScript
])

const textExtensions = 'txt md markdown csv tsv json html htm xml yaml yml css js mjs ts py log sql toml ini sh'
const refusedExtensions = 'svg exe dll com scr msi zip rar 7z gz tar jar apk docm xlsm pptm doc xls ppt heic avif tiff bmp mp3 mp4'

const kindByExtension: ReadonlyMap<string, ClaimedKind> = new Map([
  ...(['png', 'jpeg', 'gif', 'webp', 'pdf', 'docx', 'xlsx', 'pptx'] as const).map((kind) => [kind, kind] as const),
  ['jpg', 'jpeg'],
  ['jpe', 'jpeg'],
  ...textExtensions.split(' ').map((extension) => [extension, 'text'] as const),
  ...refusedExtensions.split(' ').map((extension) => [extension, 'other'] as const),
])

/** `other` is nothing that is taken. */
export type ClaimedKind = FileKind | 'other'

/** What its name and its sender say it is. Often they say nothing: a system that knows no better calls a table a program's data. */
export function claimedKinds(name: string, mime: string | undefined): readonly ClaimedKind[] {
  return [kindByExtension.get(extensionOf(name)), kindOfMime(mime)].filter((kind) => kind !== undefined)
}

function kindOfMime(mime = ''): ClaimedKind | undefined {
  const type = mime.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const known = kindByMime.get(type)
  if (known) return known
  if (type.startsWith('text/')) return 'text'
  return /^(?:image|audio|video|font)\//.test(type) ? 'other' : undefined
}

/** How a text is written; undefined when the bytes are no text: not in UTF-8, nor in UTF-16 with its mark, or with a NUL in it. */
export function textCharset(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | undefined {
  const text = decodeText(bytes)
  return text === undefined || text.includes('\0') ? undefined : markedCharset(bytes)
}

const textMimeByExtension: ReadonlyMap<string, string> = new Map([
  ['md', 'text/markdown'],
  ['markdown', 'text/markdown'],
  ['csv', 'text/csv'],
  ['tsv', 'text/tab-separated-values'],
  ['json', 'application/json'],
  ['html', 'text/html'],
  ['htm', 'text/html'],
  ['xml', 'application/xml'],
  ['yaml', 'application/yaml'],
  ['yml', 'application/yaml'],
  ['css', 'text/css'],
  ['js', 'text/javascript'],
  ['mjs', 'text/javascript'],
  ['py', 'text/x-python'],
])

/** What kind of text it is, which only its name can tell. */
export const textMime = (name: string): string => textMimeByExtension.get(extensionOf(name)) ?? 'text/plain'

/** Words that make a program or a page of whatever else the file is, where somebody opens it as one. */
const programMarkers = /<script|<html|<!doctype|<\?php/i

/** Something else that a picture or a PDF can be opened as, by one who starts reading elsewhere; undefined when there is nothing. */
export function polyglotType(bytes: Uint8Array, own: 'picture' | 'pdf'): string | undefined {
  if (endsAsZip(bytes)) return 'a ZIP archive'
  if (own === 'pdf') return undefined // whose text may speak of anything
  const buffer = bufferOf(bytes)
  if (buffer.includes('%PDF-')) return 'a PDF document'
  return programMarkers.test(buffer.toString('latin1')) ? 'a program or a web page' : undefined
}

/** Archives are read from their end: whatever stands before does not matter to who unpacks them. */
function endsAsZip(bytes: Uint8Array): boolean {
  const end = endOfZip(bytes)
  if (end === undefined) return false
  const view = viewOf(bytes)
  const start = end - view.getUint32(end + 12, true)
  return view.getUint16(end + 10, true) === 0 || (start >= 0 && view.getUint32(start, true) === 0x02014b50)
}
