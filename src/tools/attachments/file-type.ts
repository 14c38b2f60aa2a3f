import { hasBytesAt } from '../bytes.ts'

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
