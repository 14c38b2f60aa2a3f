import type { FileSignature } from './file-type.ts'
import { extensionOf } from './name.ts'
import { type OfficeKind, officeMimes } from './office.ts'

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
