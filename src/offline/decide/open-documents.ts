import { Failure } from '../../core/failure.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { type Document, isPdf, isTable } from '../prompt/documents.ts'
import { parseTable, type Table } from '../table/table.ts'
import { type Passage, passagesOf } from '../text/passages.ts'

/** A document whose words can be looked at. */
export interface OpenDocument extends Document {
  readonly passages: readonly Passage[]
  readonly table: Table | undefined
  readonly pages: number | undefined
  /** Lines in sight, when there are more. */
  readonly partial: { readonly seen: number; readonly total: number } | undefined
  /** Why there is nothing to look at, for the user to read. */
  readonly problem: string | undefined
}

const maxPages = 200

/** What is in sight of a document, as passages; of a table also as a table. What can not be read says why. */
export async function openDocument(
  document: Document,
  read: ModelRequest['read'],
  reader: DocumentReader | undefined,
): Promise<OpenDocument> {
  if (isPdf(document)) return openPdf(document, read, reader)
  const { windows } = document
  const text = windows.map((window) => window.text).join('\n')
  const seen = text === '' ? 0 : text.split('\n').length
  const total = Math.max(...windows.map((window) => window.total), 0)
  const table = isTable(document) && windows[0]?.first === 1 ? parseTable(text) : undefined
  return {
    ...unopened(document),
    passages: table ? rowPassages(table) : windows.flatMap((window) => passagesOf(window.text, { firstLine: window.first })),
    table,
    partial: windows.at(-1)?.next === undefined && windows[0]?.first === 1 ? undefined : { seen, total },
    problem: windows.length === 0 ? `${document.name} could not be brought into view` : undefined,
  }
}

const unopened = (document: Document): OpenDocument => ({
  ...document,
  passages: [],
  table: undefined,
  pages: undefined,
  partial: undefined,
  problem: undefined,
})

/** A row is found by its cells; the names of columns are in all of them. */
function rowPassages({ rows }: Table): readonly Passage[] {
  return rows.map(({ raw, line }) => ({ text: raw, headings: [], line }))
}

async function openPdf(document: Document, read: ModelRequest['read'], reader: DocumentReader | undefined): Promise<OpenDocument> {
  const { name, part } = document
  if (!part) return { ...unopened(document), problem: `${name} could not be brought into view` }
  if (!reader) return { ...unopened(document), problem: `nothing here reads PDF, so ${name} stays closed` }
  try {
    const bytes = part.base64 === undefined ? await read(part.blob) : Buffer.from(part.base64, 'base64')
    const { pages, text } = await reader.pdf(bytes, { maxPages: maxPages })
    const passages = text.flatMap((page, index) => passagesOf(page, { page: index + 1 }))
    const problem = passages.length === 0 ? `${name} has no text in it that could be read: it may be a scan` : undefined
    return { ...unopened(document), passages, pages, problem }
  } catch (error) {
    if (error instanceof Failure) return { ...unopened(document), problem: `${name}: ${error.message}` }
    throw error
  }
}
