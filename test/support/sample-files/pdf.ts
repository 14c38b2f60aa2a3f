import { deflateSync } from 'node:zlib'

export interface PdfOptions {
  readonly compressed?: boolean
  /** A compressed content stream that replaces the line of text on the first page. */
  readonly contents?: Uint8Array
  /** Entries that are added to the trailer. */
  readonly trailer?: string
  /** Objects that are added to the document. */
  readonly extra?: readonly string[]
}

/** A PDF document with one line of text on each page. */
export function pdf(pages: readonly string[], { compressed = false, contents, trailer = '', extra = [] }: PdfOptions = {}): Buffer {
  const kids = pages.map((_, page) => `${4 + 2 * page} 0 R`)
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((line, page) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * page} 0 R >>`,
      contents && page === 0 ? content(contents, true) : content(lineOf(line), compressed),
    ]),
    ...extra,
  ]
  const places: number[] = []
  let text = '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n'
  for (const [index, object] of objects.entries()) {
    places.push(text.length)
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
  }
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`)
  const size = objects.length + 1
  text += `xref\n0 ${size}\n0000000000 65535 f \n${rows.join('')}trailer\n<< /Size ${size} /Root 1 0 R ${trailer}>>\n`
  text += `startxref\n${text.lastIndexOf('xref\n0 ')}\n%%EOF\n`
  return Buffer.from(text, 'latin1')
}

const lineOf = (line: string) => Buffer.from(`BT /F1 12 Tf 50 700 Td (${line.replace(/[\\()]/g, '\\$&')}) Tj ET`, 'latin1')

function content(drawn: Uint8Array, compressed: boolean): string {
  const data = Buffer.from(compressed ? deflateSync(drawn) : drawn).toString('latin1')
  return `<< /Length ${data.length} ${compressed ? '/Filter /FlateDecode ' : ''}>>\nstream\n${data}\nendstream`
}
