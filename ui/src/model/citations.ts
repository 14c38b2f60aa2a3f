import type { SourceRow } from 'daybook/client'

/** The sources that a citation names, in the order of the citation. */
export const citedSources = (sids: readonly number[], sources: ReadonlyMap<number, SourceRow>): readonly SourceRow[] =>
  sids.flatMap((sid) => sources.get(sid) ?? [])

/** Reads the numbers in a citation such as `1,3-5`. */
export function parseSids(text: string): readonly number[] {
  const sids = text.split(',').flatMap((part) => {
    const [from, to = from] = part.split('-').map((number) => Number(number.trim()))
    if (from === undefined || to === undefined || !Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return []
    return Array.from({ length: Math.min(Math.max(to - from + 1, 0), 50) }, (_, index) => from + index)
  })
  return [...new Set(sids)]
}

/**
 * The source that a link in a running answer cites. While an answer is being written, the server replaces citations by links. The stored
 * answer contains the citations. Both are shown in the same way.
 */
export function sourceOfLink(href: string, title: string, sources: ReadonlyMap<number, SourceRow>): SourceRow | undefined {
  for (const source of sources.values()) {
    const isTitle = title === source.title?.trim().replaceAll('"', "'") || title === source.url?.trim()
    if (isTitle && source.url !== undefined && sameAddress(source.url, href)) return source
  }
  return undefined
}

const sameAddress = (a: string, b: string) => a === b || (URL.parse(a)?.href ?? a) === (URL.parse(b)?.href ?? b)

/** The name of a site for a card, such as `example.com`. */
export const siteOf = ({ url, domain }: SourceRow): string =>
  domain ?? (url === undefined ? '' : (URL.parse(url)?.hostname.replace(/^www\./, '') ?? ''))

/**
 * Whether a link may be opened: an address of the web or of a mail program. Links with other addresses, such as `javascript:`, are shown as
 * text.
 */
export const isSafeAddress = (href: string) => /^(?:https?:|mailto:)/i.test(href)
