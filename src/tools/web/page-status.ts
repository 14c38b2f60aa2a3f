import type { FetchedResponse, FetchFailure, FetchResult } from '../../ports/web.ts'

/**
 * The result of reading an address:
 *
 *   success                 the text of a page, or of another text file
 *   archive                 the text comes from the archive, because the page itself could not be read
 *   non_html                an image, or a PDF with its text
 *   pdf_redirect            the address of a page led to a PDF
 *   binary                  a file that has no text
 *   paywall                 the text is only for subscribers
 *   blocked_403             the site refuses programs, or the file robots.txt does
 *   session_expired         the page wants a login
 *   http_<n>                any other status of at least 400
 *   insufficient_content    less than 100 characters of text
 *   timeout, error          no response
 *   refused                 the address is not allowed
 */
export type PageStatus =
  | 'success'
  | 'archive'
  | 'non_html'
  | 'pdf_redirect'
  | 'binary'
  | 'paywall'
  | 'blocked_403'
  | 'session_expired'
  | `http_${number}`
  | 'insufficient_content'
  | 'timeout'
  | 'error'
  | 'refused'

/** The kind of content of a response. */
export type ContentKind = 'html' | 'text' | 'pdf' | 'image' | 'binary'

/** A text with fewer characters is probably not the text of the page. */
export const minContentChars = 100

/** The status of a request that gives no content, with the reason. Undefined if the response has content. */
export function problemOf(url: string, result: FetchResult): { readonly status: PageStatus; readonly error: string } | undefined {
  if (!result.ok) return { status: statusOfFailure(result), error: result.message }
  const { status } = result
  if (status === 403) return { status: 'blocked_403', error: 'the site does not allow this request (status 403)' }
  if (status === 402) return { status: 'paywall', error: 'the page has to be paid for (status 402)' }
  if (status === 401 || status === 419 || status === 440 || isLogin(url, result.url))
    return { status: 'session_expired', error: 'the page can be read only after a login' }
  return status >= 200 && status < 300 ? undefined : { status: `http_${status}`, error: `the site answered with status ${status}` }
}

function statusOfFailure({ reason }: FetchFailure): PageStatus {
  if (reason === 'refused' || reason === 'timeout') return reason
  return reason === 'robots' ? 'blocked_403' : 'error'
}

const loginSteps: ReadonlySet<string> = new Set(['login', 'log-in', 'signin', 'sign-in', 'sso', 'oauth', 'authorize', 'auth'])

/** Whether a request was redirected to a login page. False if the requested page itself is a login page. */
function isLogin(url: string, finalUrl: string): boolean {
  return hasLoginStep(finalUrl) && !hasLoginStep(url)
}

function hasLoginStep(url: string): boolean {
  const path = URL.parse(url)?.pathname.toLowerCase() ?? ''
  return path.split('/').some((step) => loginSteps.has(step.split('.', 1)[0] ?? ''))
}

const textTypes: ReadonlySet<string> = new Set([
  'application/json',
  'application/xml',
  'application/javascript',
  'application/x-ndjson',
  'application/yaml',
])

/** The kind of content, by the first bytes and then by the media type. Servers often send the wrong type for a PDF. */
export function contentKind({ mime, bytes }: Pick<FetchedResponse, 'mime' | 'bytes'>): ContentKind {
  if (startsWith(bytes, '%PDF-') || mime === 'application/pdf') return 'pdf'
  if (mime === 'text/html' || mime === 'application/xhtml+xml') return 'html'
  if (mime.startsWith('image/') && mime !== 'image/svg+xml') return 'image'
  if (mime.startsWith('text/') || textTypes.has(mime) || mime.endsWith('+json') || mime.endsWith('+xml')) return 'text'
  return mime === '' && startsWith(bytes, '<') ? 'html' : 'binary'
}

const startsWith = (bytes: Uint8Array, text: string) => Buffer.from(bytes.subarray(0, text.length)).toString('latin1') === text

/** True for the statuses after which the page is requested from the archive. */
export const isWorthArchive = (status: PageStatus): boolean =>
  status === 'paywall' ||
  status === 'error' ||
  status === 'blocked_403' ||
  status === 'session_expired' ||
  status === 'insufficient_content'
