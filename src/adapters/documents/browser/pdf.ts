import type { RenderedDocument, RenderRequest } from '../../../ports/documents.ts'
import { unrenderable } from '../structure/packages.ts'
import { fitTables } from './fit-tables.ts'
import { type BlankPage, type OpenPage, type PageView, showDocument } from './open-page.ts'
import { isBlank, remarksOf } from './page-checks.ts'
import type { PageRequest } from './page-html.ts'

/** The window of a page that is printed: the size of A4 in pixels. */
export const printView: PageView = { width: 794, height: 1123, scale: 1, delayMs: 1_000, baseFolder: '', mermaid: {} }

const maxBytes = 100 * 1024 * 1024

const footer = `<div style="width:100%;text-align:center;font:8pt 'Source Sans 3','DejaVu Sans',Arial,sans-serif;color:#6b7785"><span class="pageNumber"></span> / <span class="totalPages"></span></div>`

/** Prints a document as PDF: A4, with page numbers. A complete HTML document has the margins of its author and no page numbers. */
export async function renderPdf(blank: BlankPage, request: PageRequest): Promise<RenderedDocument> {
  const opened = await showDocument(blank, request, printView)
  failOnDiagram(opened, request)
  const { page, document } = opened
  if (!document.complete && document.html.includes('<table')) await fitTables(page, contentWidth(request.landscape))
  const empty = await isBlank(page)
  const ownPages = document.complete && /@page\b/i.test(document.html.slice(document.html.indexOf('</style>')))
  const bytes = await page.pdf({
    ...printOptions(document.complete),
    landscape: request.landscape ?? false,
    ...(ownPages && { preferCSSPageSize: true, margin: {} }),
  })
  if (bytes.length > maxBytes) throw unrenderable('too_large', 'The PDF has more than 100 MiB. Use fewer or smaller images.')
  const pages = countPages(bytes)
  if (pages === 0) throw unrenderable('failed', 'The browser made a PDF without pages.')
  return { bytes: withFixedValues(bytes, request.now), pages, remarks: remarksOf(opened, empty) }
}

/** The width between the margins, in pixels. One millimetre is 96 / 25.4 pixels. */
const contentWidth = (landscape = false) => (((landscape ? 297 : 210) - 2 * 20) * 96) / 25.4

/** The options of the browser for printing on A4. `complete`: the content is a complete HTML document, which gets no page numbers. */
export const printOptions = (complete: boolean) => ({
  format: 'A4',
  printBackground: true,
  tagged: true,
  outline: true,
  displayHeaderFooter: !complete,
  headerTemplate: '<div></div>',
  footerTemplate: footer,
  margin: { top: '25mm', right: '20mm', bottom: '30mm', left: '20mm' },
})

/** Throws if the whole document is one diagram and the diagram has an error. Other documents show such a diagram as text. */
export function failOnDiagram({ diagramErrors }: OpenPage, { format }: RenderRequest): void {
  const [error] = diagramErrors
  if (!error || format !== 'mermaid') return
  const code = error.name === 'Error' ? 'MermaidSyntaxError' : error.name
  throw Object.assign(unrenderable('content', error.message), { details: { reason: 'content', code } })
}

/** The number of pages of a PDF. It is read from the root of the page tree. */
function countPages(bytes: Uint8Array): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const counts = [...text.matchAll(/\/Type \/Pages\s[^<>]{0,999}?\/Count (\d{1,9})/g)].map(([, count]) => Number(count))
  return Math.max(0, ...counts)
}

/**
 * Replaces values that differ between two prints of the same page: the times, and the names of table cells. The times come from the clock
 * of the system. The names contain numbers, and the browser does not assign them in a fixed order. The new values have the same length as
 * the old ones, because a PDF lists the positions of its objects at its end.
 */
function withFixedValues(bytes: Uint8Array, now: string): Uint8Array {
  const time = now.replace(/\D/g, '').slice(0, 14)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const dated = text.replace(
    /\/(CreationDate|ModDate) \(D:\d{14}([+-]\d\d'\d\d')\)/g,
    (_, name: string, zone: string) => `/${name} (D:${time}${zone})`,
  )
  return Buffer.from(withFixedNames(dated), 'latin1')
}

/** The lists of names in a PDF. Each name is followed by its object, and the names of a list are sorted. */
const nameLists = /\/Limits \[\(node\d{8}\) \(node\d{8}\)\]\n\/Names \[([^[\]]{0,99999})\]/g

/** Numbers the names of table cells in the order of the document, and sorts their list again. */
function withFixedNames(text: string): string {
  const lists = [...text.matchAll(nameLists)]
  const found = text.replace(nameLists, '').matchAll(/\(node(\d{8})\)/g)
  const names = [...new Set([...found].map(([, digits]) => digits as string))]
  // A long document has several lists of names. A name can not move from one list to another, so the names then keep the order of the
  // browser.
  const ordered = lists.length === 1 ? names : names.toSorted()
  const numbers = new Map(ordered.map((digits, index) => [digits, `${index + 1}`.padStart(8, '0')]))
  const renamed = text.replace(/\(node(\d{8})\)/g, (whole, digits: string) =>
    numbers.has(digits) ? `(node${numbers.get(digits)})` : whole,
  )
  if (lists.length !== 1) return renamed
  return renamed.replace(nameLists, (_, list: string) => {
    const entries = [...list.matchAll(/\(node\d{8}\) \d{1,9} 0 R/g)].map(([entry]) => entry).sort()
    const name = (entry = '') => entry.slice(0, '(node00000000)'.length)
    return `/Limits [${name(entries[0])} ${name(entries.at(-1))}]\n/Names [${entries.join(' ')}]`
  })
}
