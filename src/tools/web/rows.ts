import { cutAt, ellipsize } from '../../core/cut.ts'
import { type Json, omitUndefined } from '../../core/json.ts'
import type { SourcePool } from '../../core/sources/pool.ts'
import { type IncomingSource, isWebAddress } from '../../core/sources/source.ts'
import { sourceKey } from '../../core/sources/source-keys.ts'
import type { FetchedImage } from './image.ts'
import type { Page } from './page.ts'

/** How much of a text the model reads in a result. The rest is in the pool. */
const shownChars = 500

/** The fields of a source that come from its page. `now` is the time of the request. */
export function pageFields(page: Page, now: string): Partial<IncomingSource> {
  const { status, content, mime, size, base64, finalUrl, published, modified, favicon, title } = page
  const hasContent = content !== '' || base64 !== undefined
  return omitUndefined({
    title: title && cutAt(title, 300),
    content: content || undefined,
    content_length: content === '' ? undefined : content.length,
    mime,
    size_bytes: size,
    base64,
    final_url: finalUrl,
    published_time_iso: published?.iso,
    date_method: published?.method,
    date_confidence: published?.confidence,
    modified_time_iso: modified,
    favicon,
    fetched_time_iso: hasContent ? now : undefined,
    fetch_status: hasContent ? status : undefined,
  })
}

/**
 * The source of a page that was fetched. Undefined if the address does not belong to a web page. Also undefined if the page had no text,
 * because an answer must not cite a page that the model could not read. However, a page that is already in `pool` stays a source. The tool
 * gives its sources no numbers. Therefore a `[[S:1]]` in the text of a page refers to no source of this result and is removed.
 */
export function fetchedSource(url: string, page: Page, pool: SourcePool, now: string): IncomingSource | undefined {
  if (!isWebAddress(url) || hasUserInfo(url) || !(isReadable(page) || isKnown(url, pool))) return undefined
  const text = page.content === '' ? undefined : cutAt(oneParagraph(page.content), shownChars)
  return { source_type: 'web', authority: 'web', url, domain: domainOf(url), ...omitUndefined({ text }), ...pageFields(page, now) }
}

const isReadable = ({ content, status }: Page) => content !== '' || status === 'non_html' || status === 'pdf_redirect'

function isKnown(url: string, { rows }: SourcePool): boolean {
  const key = sourceKey({ url })
  return rows.some((row) => sourceKey(row) === key)
}

/** An address with a password must not become a source, because sources are shown and exported. */
export const hasUserInfo = (url: string): boolean => {
  const parsed = URL.parse(url)
  return parsed !== null && (parsed.username !== '' || parsed.password !== '')
}

export const domainOf = (url: string): string => URL.parse(url)?.hostname ?? ''

const oneParagraph = (text: string) =>
  text
    .slice(0, 4 * shownChars)
    .replace(/\s+/g, ' ')
    .trim()

/** The data about a fetched page that the model reads. If the page is an image, `image` is the file in which it is stored. */
export function shownPage(sid: number | undefined, { status, title, content, error, mime, size }: Page, image?: FetchedImage): Json {
  const shown = image && ('path' in image ? { artifact_path: image.path, mime: image.mime } : image)
  return omitUndefined({
    sid,
    title,
    status,
    error,
    ...(status === 'success' || status === 'archive' ? {} : { mime, size_bytes: size }),
    ...shown,
    content: content === '' ? undefined : ellipsize(content, shownChars),
    content_length: content === '' ? undefined : content.length,
  }) as Json
}

/** What the model reads about a search result. */
export const shownHit = (sid: number, { title, url, text, weighted_rank }: IncomingSource): Json =>
  omitUndefined({ sid, title, url, text: text === undefined ? undefined : ellipsize(text, shownChars), weighted_rank }) as Json
