import { Failure } from '../../core/failure.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { type Document, isPdf, isReadable, isTable } from '../prompt/documents.ts'
import type { Situation } from '../prompt/situation.ts'
import { parseTable, type Table } from '../table/table.ts'
import { type Passage, passagesOf } from '../text/passages.ts'
import { foldCase, wordsOf } from '../text/words.ts'

const maxDocuments = 8

/**
 * The documents that a request is about. If the request contains names of documents, these are returned. Otherwise the attachments of the
 * current turn are returned, or all attachments if this turn has none. If the request says "the PDF" or "the CSV", attachments of other
 * types are left out. Pages of the knowledge space that the prompt shows are added, if the knowledge space was searched for this request.
 */
export function relevantDocuments({ documents, request, turnId, calls }: Situation): readonly Document[] {
  const readable = documents.filter(isReadable)
  const named = readable.filter((document) => isNamed(document, request))
  if (named.length > 0) return named.slice(-maxDocuments)
  const attached = readable.filter(({ origin }) => origin === 'attached')
  const attachedNow = attached.filter((document) => document.turnId === turnId)
  const knowledge = readable.filter(({ origin, windows }) => origin === 'knowledge' && windows.length > 0)
  const searchedKnowledge = calls.some(({ toolId }) => toolId === 'react.search_knowledge')
  return [
    ...ofNamedKind(request, attachedNow.length > 0 ? attachedNow : attached).slice(-maxDocuments),
    ...(searchedKnowledge ? knowledge.slice(-maxDocuments) : []),
  ]
}

const determiner = '(?:the|this|that|these|those|my|our|attached|der|die|das|dem|den|diese[rmns]?|im)'
const pdfNamed = new RegExp(`\\b${determiner}\\s+(?:attached\\s+)?pdfs?\\b`, 'i')
const tableNamed = new RegExp(`\\b${determiner}\\s+(?:attached\\s+)?(?:csv|tsv|spread\\s?sheet|tabelle)s?\\b`, 'i')

function ofNamedKind(request: string, attached: readonly Document[]): readonly Document[] {
  const isKind = (document: Document) => (pdfNamed.test(request) && isPdf(document)) || (tableNamed.test(request) && isTable(document))
  return attached.some(isKind) ? attached.filter(isKind) : attached
}

/** The documents that are not in the prompt and that this turn has not tried to read with `react.read`. */
export function unreadDocuments(documents: readonly Document[], { calls }: Situation): readonly Document[] {
  const tried = new Set(
    calls.flatMap(({ toolId, params }) => (toolId === 'react.read' && Array.isArray(params?.paths) ? params.paths : [])),
  )
  return documents.filter((document) => !tried.has(document.path) && (isPdf(document) ? !document.part : document.windows.length === 0))
}

/**
 * File names that are also common words in requests. If a request contains such a word without the file extension, the word is not taken as
 * the name of the file.
 */
const genericNames = new Set([
  'report',
  'summary',
  'data',
  'file',
  'document',
  'note',
  'notes',
  'text',
  'table',
  'list',
  'readme',
  'book',
  'chart',
  'answer',
])

/** Whether the request contains the name of the file, with or without its extension. */
function isNamed({ name }: Document, request: string): boolean {
  const text = ` ${normalizeWords(request)} `
  if (foldCase(request).includes(foldCase(name))) return true
  const stem = normalizeWords(name.replace(/\.[^.]*$/, ''))
  return stem.length >= 4 && !genericNames.has(stem) && (text.includes(` ${stem} `) || text.includes(` ${stem}s `))
}

/** The text as words in lower case, without accents, with one space between them. */
const normalizeWords = (text: string) =>
  wordsOf(text.replaceAll(/[-_]/g, ' '))
    .map(({ text: word }) => foldCase(word))
    .join(' ')

/** A document whose visible content, the part that the prompt shows, is cut into passages. */
export interface OpenDocument extends Document {
  readonly passages: readonly Passage[]
  readonly table: Table | undefined
  readonly pages: number | undefined
  /** How many lines the prompt shows, and how many the document has. Undefined when all lines are shown. */
  readonly partial: { readonly seen: number; readonly total: number } | undefined
  /** Why the content is not available, as a text for the user. */
  readonly problem: string | undefined
}

const maxPages = 200

/**
 * Cuts the content that the prompt shows into passages. A CSV or TSV file also gets a table, if the prompt shows its first line. If the
 * prompt shows no content, `problem` says why.
 */
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

/**
 * The rows of a table as passages. The column names are not added as headings. With headings, a question with the name of a column would
 * match every row.
 */
function rowPassages({ rows }: Table): readonly Passage[] {
  return rows.map(({ raw, line }) => ({ text: raw, headings: [], line }))
}

async function openPdf(document: Document, read: ModelRequest['read'], reader: DocumentReader | undefined): Promise<OpenDocument> {
  const { name, part } = document
  if (!part) return { ...unopened(document), problem: `${name} could not be brought into view` }
  if (!reader) return { ...unopened(document), problem: `nothing here reads PDF, so ${name} stays closed` }
  try {
    const bytes = part.base64 === undefined ? await read(part.blob) : Buffer.from(part.base64, 'base64')
    const { pages, text } = await reader.pdf(bytes, { maxPages })
    const passages = text.flatMap((page, index) => passagesOf(page, { page: index + 1 }))
    const problem = passages.length === 0 ? `${name} has no text in it that could be read: it may be a scan` : undefined
    return { ...unopened(document), passages, pages, problem }
  } catch (error) {
    if (error instanceof Failure) return { ...unopened(document), problem: `${name}: ${error.message}` }
    throw error
  }
}
