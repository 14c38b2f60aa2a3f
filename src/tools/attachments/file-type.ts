import { bufferOf, hasBytesAt } from '../bytes.ts'
import { decodeText, detectCharset, extensionOf } from '../mime.ts'
import { findZipEnd, isDirectoryHeader } from '../zip.ts'
import { type OfficeKind, officeMimes } from './office.ts'

/** The accepted formats that can be recognised by their first bytes. */
export type FileSignature = 'png' | 'jpeg' | 'gif' | 'webp' | 'pdf' | 'zip'

/** The format that the first bytes of a file indicate. The other bytes are not checked. */
export function detectSignature(bytes: Uint8Array): FileSignature | undefined {
  if (hasBytesAt(bytes, 0, '\x89PNG\r\n\x1a\n')) return 'png'
  if (hasBytesAt(bytes, 0, '\xff\xd8\xff')) return 'jpeg'
  if (hasBytesAt(bytes, 0, 'GIF87a') || hasBytesAt(bytes, 0, 'GIF89a')) return 'gif'
  if (hasBytesAt(bytes, 0, 'RIFF') && hasBytesAt(bytes, 8, 'WEBP')) return 'webp'
  if (hasBytesAt(bytes, 0, '%PDF-')) return 'pdf'
  if (hasBytesAt(bytes, 0, 'PK\x03\x04') || hasBytesAt(bytes, 0, 'PK\x05\x06')) return 'zip'
  return undefined
}

const programRefusal = 'is a program, and programs are not accepted'
const archiveRefusal = 'is an archive, and archives are not opened. Send the files themselves'
const tiffRefusal = 'is a TIFF picture. Send it as JPEG or PNG'

/** Known formats that are not accepted, and what to send instead. */
const refusedSignatures: readonly (readonly [at: number, signature: string, words: string])[] = [
  [0, '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'is an old or a protected Office document. Save it as DOCX, XLSX or PPTX without a password'],
  [0, 'MZ', programRefusal],
  [0, '\x7fELF', programRefusal],
  [0, '\xca\xfe\xba\xbe', programRefusal],
  [0, '\xcf\xfa\xed\xfe', programRefusal],
  [0, 'Rar!', archiveRefusal],
  [0, '7z\xbc\xaf', archiveRefusal],
  [0, '\x1f\x8b', archiveRefusal],
  [0, 'BZh', archiveRefusal],
  [257, 'ustar', archiveRefusal],
  [4, 'ftyphei', 'is a HEIC picture. Send it as JPEG or PNG'],
  [4, 'ftypavif', 'is an AVIF picture. Send it as JPEG or PNG'],
  [0, 'II*\0', tiffRefusal],
  [0, 'MM\0*', tiffRefusal],
  [0, 'BM', 'is a BMP picture or of an unknown type. Send pictures as JPEG or PNG'],
]

/** The reason for rejecting bytes that are neither an accepted format nor text. */
export const unknownTypeRefusal = (bytes: Uint8Array): string =>
  refusedSignatures.find(([at, signature]) => hasBytesAt(bytes, at, signature))?.[2] ??
  'has an unknown type. Send JPEG, PNG, GIF, WebP, PDF, DOCX, XLSX, PPTX, or text in UTF-8'

/** The accepted kinds of files. */
export type FileKind = Exclude<FileSignature, 'zip'> | OfficeKind | 'text'

/** The name of each kind of file in messages to the user. */
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
  ['video/mp2t', 'text'], // browsers send this type for .ts files
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

/** The kind of file that a file name or a declared media type indicates. `other` is any kind that is not accepted. */
type ClaimedKind = FileKind | 'other'

/**
 * The kinds of file that the file name and the declared media type indicate. An unknown extension indicates no kind. The type
 * `application/octet-stream` indicates no kind either, because browsers may send it for any file.
 */
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

/** The charset of a text file. Undefined when the bytes are neither UTF-8 nor UTF-16 with a byte order mark, or contain a NUL. */
export function textCharset(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | undefined {
  const text = decodeText(bytes)
  return text === undefined || text.includes('\0') ? undefined : detectCharset(bytes)
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

/** The media type of a text file, judged by its name. */
export const textMime = (name: string): string => textMimeByExtension.get(extensionOf(name)) ?? 'text/plain'

/** Matches text that makes the file dangerous: a browser would run the file as a page, or a web server as a PHP program. */
const programMarkers = /<script|<html|<!doctype|<\?php/i

/**
 * The name of a second format in which the same bytes can be opened. Undefined when there is none. Some programs do not read a file from
 * its beginning, so one file can be valid in two formats.
 */
export function polyglotType(bytes: Uint8Array, own: 'picture' | 'pdf'): string | undefined {
  if (endsAsZip(bytes)) return 'a ZIP archive'
  if (own === 'pdf') return undefined // a harmless PDF may contain the text of a web page or of a program
  const buffer = bufferOf(bytes)
  if (buffer.includes('%PDF-')) return 'a PDF document'
  return programMarkers.test(buffer.toString('latin1')) ? 'a program or a web page' : undefined
}

/** Whether the file ends with a ZIP archive. Programs read archives from the end, so they would open such a file as an archive. */
function endsAsZip(bytes: Uint8Array): boolean {
  const end = findZipEnd(bytes)
  return end !== undefined && (end.entryCount === 0 || isDirectoryHeader(bytes, end.offset - end.directorySize))
}
