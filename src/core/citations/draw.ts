import type { CitedSource, SourceMap } from './source-map.ts'

/** `<sup class="cite" data-sids="1,3">` with a link where there is something to link to. */
export function formatSuperscript(ids: readonly number[], sources: SourceMap): string {
  const marks = ids.map((id) => {
    const url = webAddress(sources.get(id))
    if (url === undefined) return `[S:${id}]`
    return `<a href="${escapeAttribute(url)}" target="_blank" rel="noopener noreferrer">[S:${id}]</a>`
  })
  return `<sup class="cite" data-sids="${ids.join(',')}">${marks.join(' ')}</sup>`
}

/** `[title](url)`, or the title when there is nothing to link to. */
export function formatLink(id: number, source: CitedSource, embedImages: boolean): string {
  const url = webAddress(source)
  const title = escapeTitle(source.title?.trim() || source.url?.trim() || `Source ${id}`)
  if (url === undefined) return title
  return `${embedImages && isImage(url) ? '!' : ''}[${title}](${escapeUrl(url)})`
}

/** Only what a browser fetches becomes a link: never `javascript:`, never `data:`. */
function webAddress(source: CitedSource | undefined): string | undefined {
  const url = source?.url?.trim()
  return url !== undefined && /^https?:\/\//i.test(url) ? url : undefined
}

const isImage = (url: string): boolean => /\.(?:png|jpe?g|gif|webp|svg|avif|bmp)$/i.test(url.replace(/[?#][\s\S]*$/, ''))

/** Titles are written by strangers: what would end the link or the table cell, begin code, or be an HTML tag or `<javascript:…>`. */
const escapeTitle = (title: string): string =>
  title
    .replaceAll('"', "'")
    .replace(/[\\[\]|<`]/g, '\\$&')
    .replace(/[\r\n]/g, ' ')

/** What would end the link early, or the line or the table cell it stands in. */
const escapeUrl = (url: string): string =>
  url.replace(/[\s()<>"\\|`\p{Cc}]/gu, (character) =>
    character === '(' ? '%28' : character === ')' ? '%29' : encodeURIComponent(character),
  )

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escapeAttribute = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] as string)
