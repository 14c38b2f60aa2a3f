import { errorMessage, Failure } from '../../core/failure.ts'
import { oneLine } from '../../core/render/text.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { PageReader } from '../../ports/web.ts'
import { type FrontMatter, splitFrontMatter, type YamlParser } from './front-matter.ts'
import { lineSections, markdownSections, pageSections, type Section } from './sections.ts'

/** A document of the knowledge base, as text. */
export interface KnowledgeDocument extends Omit<FrontMatter, 'title'> {
  readonly mime: string
  readonly title: string
  readonly sections: readonly Section[]
  /** What is wrong with the document, although it can be read. */
  readonly remark?: string
}

/** The readers of formats that are not plain text. If a reader is missing, documents of its format are left out. */
export interface DocumentReaders {
  readonly documents?: DocumentReader
  readonly pages?: () => Promise<PageReader>
  readonly yaml: YamlParser
}

/**
 * The document, or the reason why the file is not a document. The reason is the end of a sentence whose subject is the name of the file.
 */
export type DocumentResult = { readonly document: KnowledgeDocument } | DocumentProblem

/**
 * Why a file is not a document. `again` says whether a later update reads the file again, although the file has not changed. With `later`
 * it is read again, because the reason is not in the file. With `once` it is read one more time, because the reason may be the file or a
 * busy machine.
 */
export interface DocumentProblem {
  readonly problem: string
  readonly again?: 'later' | 'once'
}

type Format = 'markdown' | 'html' | 'pdf' | 'plain'

/** The maximum number of bytes of a file, for each format. Larger files are not read. */
const maxBytes: Readonly<Record<Format, number>> = {
  markdown: 2 * 1024 * 1024,
  plain: 2 * 1024 * 1024,
  html: 4 * 1024 * 1024,
  pdf: 32 * 1024 * 1024,
}
const maxPages = 1_000
/** The maximum number of characters that are read of an HTML page, as Markdown. With many links, the Markdown is longer than the file. */
const maxHtmlText = 4_000_000

/** A file of any format with more bytes than this is not opened. */
export const maxFileBytes: number = Math.max(...Object.values(maxBytes))

const formats = new Map<string, readonly [Format, mime: string]>([
  ...['md', 'markdown', 'mdx'].map((ending) => [ending, ['markdown', 'text/markdown']] as const),
  ...['html', 'htm', 'xhtml'].map((ending) => [ending, ['html', 'text/html']] as const),
  ['pdf', ['pdf', 'application/pdf']] as const,
  ['csv', ['plain', 'text/csv']] as const,
  ['json', ['plain', 'application/json']] as const,
])

function formatOf(path: string): readonly [Format, mime: string] {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const ending = name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : ''
  return formats.get(ending) ?? ['plain', 'text/plain']
}

/** Why a file of this size is not read. Undefined when the size is allowed. */
export function sizeProblem(path: string, size: number): string | undefined {
  const limit = maxBytes[formatOf(path)[0]]
  return size > limit ? `is larger than ${limit / (1024 * 1024)} MiB` : undefined
}

/** Reads a file by its ending. A file with another ending is read if it is a text. Never throws because of its content. */
export async function readDocument(path: string, bytes: Uint8Array, readers: DocumentReaders): Promise<DocumentResult> {
  const [format, mime] = formatOf(path)
  try {
    if (format === 'pdf') return await readPdf(path, bytes, mime, readers)
    if (format === 'html') return await readHtml(path, bytes, mime, readers)
    const text = textOf(bytes)
    if (text === undefined) return { problem: 'is not a text' }
    if (text.trim() === '') return { problem: 'is empty' }
    return format === 'markdown' ? readMarkdown(path, text, mime, readers.yaml) : readPlain(path, text, mime)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'document.unreadable') throw error
    const again = reasonsToReadAgain.get(String(error.details.reason))
    return { problem: `can not be read: ${errorMessage(error)}`, ...(again && { again }) }
  }
}

const reasonsToReadAgain: ReadonlyMap<string, 'later' | 'once'> = new Map([
  ['reader_missing', 'later'],
  ['reader_closed', 'later'],
  ['too_slow', 'once'],
  ['out_of_memory', 'once'],
])

/**
 * The text of a file in UTF-8, or in UTF-16 with a byte order mark. Undefined for other bytes, and for a text with a NUL character, because
 * binary files usually contain one.
 */
function textOf(bytes: Uint8Array): string | undefined {
  const isUtf16 = bytes.length > 1 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))
  try {
    const text = new TextDecoder(isUtf16 ? (bytes[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text.replaceAll('\r\n', '\n')
  } catch (error) {
    if (error instanceof TypeError) return undefined // the bytes are not a text
    throw error
  }
}

function readMarkdown(path: string, content: string, mime: string, yaml: YamlParser): DocumentResult {
  const { front, text, remark } = splitFrontMatter(content, yaml)
  const sections = markdownSections(text)
  const { title, ...about } = front
  return {
    document: { ...about, mime, title: titleOf(title ?? firstHeading(sections) ?? nameOf(path)), sections, ...(remark && { remark }) },
  }
}

const readPlain = (path: string, text: string, mime: string): DocumentResult => ({
  document: { tags: [], mime, title: nameOf(path), sections: lineSections(text) },
})

async function readPdf(path: string, bytes: Uint8Array, mime: string, { documents }: DocumentReaders): Promise<DocumentResult> {
  if (!documents) return { problem: 'can not be read, because no PDF reader is configured', again: 'later' }
  const { pages, text } = await documents.pdf(bytes, { maxPages })
  if (text.every((page) => page.trim() === '')) return { problem: 'has no text. Its pages may be scanned images' }
  const remark = text.length < pages ? `has ${pages} pages, and a search finds only the first ${text.length}` : undefined
  return { document: { tags: [], mime, title: nameOf(path), sections: pageSections(text.map(printable)), ...(remark && { remark }) } }
}

async function readHtml(path: string, bytes: Uint8Array, mime: string, { pages }: DocumentReaders): Promise<DocumentResult> {
  if (!pages) return { problem: 'can not be read, because no HTML reader is configured', again: 'later' }
  const { title, markdown, isCut } = await (await pages()).read(bytes, { url: 'https://knowledge.invalid/', maxText: maxHtmlText })
  if (markdown.trim() === '') return { problem: 'has no text' }
  const sections = markdownSections(markdown)
  const remark = isCut && `has more than ${maxHtmlText} characters of text, and a search does not find the rest`
  const about = { tags: [], mime, title: titleOf(title.trim() || (firstHeading(sections) ?? nameOf(path))) }
  return { document: { ...about, sections, ...(remark && { remark }) } }
}

const titleOf = (title: string): string => oneLine(title, 200)
const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const firstHeading = (sections: readonly Section[]): string | undefined => sections.find(({ headings }) => headings.length > 0)?.headings[0]

/** Replaces control characters and halves of surrogate pairs, which extracted text may contain. */
const printable = (page: string): string => page.toWellFormed().replace(/[^\P{Cc}\n\t]/gu, '\ufffd')
