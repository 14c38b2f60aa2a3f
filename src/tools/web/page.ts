import { cutAt } from '../../core/cut.ts'
import { Failure } from '../../core/failure.ts'
import { omitUndefined } from '../../core/json.ts'
import { userKey } from '../../core/scope.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { FetchedResponse, Fetcher, PageDate, PageReader, PageText } from '../../ports/web.ts'
import type { Call } from '../tool.ts'
import { contentKind, isWorthArchive, minContentChars, type PageStatus, problemOf } from './page-status.ts'

/** The parts that the web tools use to read pages. */
export interface PageParts {
  readonly fetcher: Fetcher
  readonly pages: PageReader
  /** Reads the text of PDFs. Without it, a PDF has no text. */
  readonly documents?: DocumentReader
  /**
   * The address of an archive, such as `https://web.archive.org/web/`. The address of a page is appended to it. The archive is asked for
   * pages that can not be read. By default no archive is used, because the archive would learn which pages are read.
   */
  readonly archive?: string
}

/** A page as a tool returns it. */
export interface Page {
  readonly status: PageStatus
  /** The text of the page. Empty if there is none. */
  readonly content: string
  readonly error?: string
  readonly title?: string
  readonly mime?: string
  readonly size?: number
  readonly base64?: string
  /** The bytes of an image. */
  readonly image?: Uint8Array
  /** Where the content comes from, if not from the requested address. */
  readonly finalUrl?: string
  readonly published?: PageDate
  readonly modified?: string
  readonly favicon?: string
}

/** The longest text that is kept of a page. */
const maxContentChars = 400_000

/** Requests an address and reads the response. It throws only if the call is aborted. */
export async function fetchPage(url: string, parts: PageParts, call: Call): Promise<Page> {
  const page = await readAddress(url, parts, call)
  if (parts.archive === undefined || !isWorthArchive(page.status)) return page
  const archived = await readAddress(`${parts.archive}${url}`, parts, call)
  return archived.status === 'success' ? { ...archived, status: 'archive' } : page
}

async function readAddress(url: string, { fetcher, pages, documents }: PageParts, call: Call): Promise<Page> {
  const result = await fetcher.get(url, {
    signal: call.signal,
    accept: 'text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,*/*;q=0.5',
  })
  const problem = problemOf(url, result)
  if (problem || !result.ok) return { content: '', ...(problem ?? { status: 'error' }) }
  const facts = {
    ...(result.mime !== '' && { mime: result.mime }),
    size: result.bytes.length,
    ...(result.url !== url && { finalUrl: result.url }),
  }
  try {
    return { ...facts, ...(await readContent(url, result, { pages, ...(documents && { documents }) }, userKey(call.scope))) }
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'document.unreadable') throw error
    return { ...facts, status: 'error', content: '', error: error.message }
  }
}

type Readers = Pick<PageParts, 'pages' | 'documents'>

async function readContent(url: string, response: FetchedResponse, { pages, documents }: Readers, user: string): Promise<Page> {
  switch (contentKind(response)) {
    case 'html':
      return htmlPage(await pages.read(response.bytes, { url: response.url, charset: response.charset, user }), response)
    case 'text':
      return textPage(decode(response))
    case 'pdf':
      return pdfPage(url, response, documents, user)
    case 'image':
      return { status: 'non_html', content: '', ...inRow(response.bytes), image: response.bytes }
    case 'binary':
      return { status: 'binary', content: '', error: `a file of the type ${response.mime || 'unknown'} has no text` }
  }
}

function htmlPage({ markdown, paywalled, title, published, modified, favicon }: PageText, { lastModified }: FetchedResponse): Page {
  const facts = omitUndefined({ title: title || undefined, published, modified: modified?.iso ?? isoTime(lastModified), favicon })
  if (paywalled) return { ...facts, status: 'paywall', content: markdown, error: 'the page says that its text is only for subscribers' }
  return { ...facts, ...textPage(markdown) }
}

function textPage(text: string): Page {
  const content = cutAt(text.trim(), maxContentChars)
  if (content.length >= minContentChars) return { status: 'success', content }
  return { status: 'insufficient_content', content, error: `the page has only ${content.length} characters of text` }
}

/** A date of an HTTP header in ISO 8601. */
function isoTime(header: string | undefined): string | undefined {
  const time = Date.parse(header ?? '')
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().replace('.000Z', 'Z')
}

async function pdfPage(
  url: string,
  { bytes, url: finalUrl }: FetchedResponse,
  documents: DocumentReader | undefined,
  user: string,
): Promise<Page> {
  const status = finalUrl !== url && !isPdfAddress(url) ? 'pdf_redirect' : 'non_html'
  const facts = { status, mime: 'application/pdf', ...inRow(bytes) } as const
  if (!documents) return { ...facts, content: '', error: 'nothing that reads PDF is installed' }
  const { text } = await documents.pdf(bytes, { user })
  const content = text.map((page, index) => `[page ${index + 1}]\n${page.trim()}`).join('\n\n')
  return { ...facts, content: cutAt(content, maxContentChars) }
}

const isPdfAddress = (url: string) => URL.parse(url)?.pathname.toLowerCase().endsWith('.pdf') === true

/** The bytes as base64, if they are few enough for a row of the pool. */
function inRow(bytes: Uint8Array): { readonly base64?: string } {
  return bytes.length <= 3_000 ? { base64: Buffer.from(bytes).toString('base64') } : {}
}

/** Decodes a text by the encoding that the response names. */
function decode({ bytes, charset = 'utf-8' }: FetchedResponse): string {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder().decode(bytes)
    throw error
  }
}
