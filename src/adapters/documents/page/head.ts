import { isoDate } from '../../../core/dates.ts'
import type { PageDate } from '../../../ports/web.ts'

/** Facts about a page besides its text. They are collected while the page is parsed. */
export interface HeadFacts {
  /** The address that relative links refer to. */
  base: string
  title: string
  /**
   * The contents of `<meta>` elements by their name, property or itemprop, in lower case. If several elements have the same name, the first
   * one is kept.
   */
  readonly meta: Map<string, string>
  readonly jsonLd: string[]
  /** The attributes `datetime` of `<time>` elements. */
  readonly times: string[]
  icon: string | undefined
}

export const startHead = (url: string): HeadFacts => ({ base: url, title: '', meta: new Map(), jsonLd: [], times: [], icon: undefined })

const maxMetaLength = 2_000

export function readHeadTag(head: HeadFacts, tag: 'meta' | 'link' | 'base', attributes: Readonly<Record<string, string>>): void {
  if (tag === 'base') head.base = absoluteUrl(attributes.href, head.base) ?? head.base
  else if (tag === 'link') {
    const isIcon = (attributes.rel ?? '').toLowerCase().split(' ').includes('icon')
    if (isIcon) head.icon ??= absoluteUrl(attributes.href, head.base)
  } else {
    const name = (attributes.name ?? attributes.property ?? attributes.itemprop)?.toLowerCase()
    if (name !== undefined && attributes.content && !head.meta.has(name)) head.meta.set(name, attributes.content.slice(0, maxMetaLength))
  }
}

/** A link as a complete web address. Undefined for links to a place on the same page, and for other schemes. */
export function absoluteUrl(href: string | undefined, base: string): string | undefined {
  const link = href?.trim() ?? ''
  if (link === '' || link.startsWith('#') || link.length > 2_000) return undefined
  const url = URL.parse(link, base)
  return url && (url.protocol === 'http:' || url.protocol === 'https:') ? url.href : undefined
}

/**
 * The title of a page. `og:title` and `twitter:title` are preferred to `<title>`, because `<title>` often also contains the name of the
 * site.
 */
export function titleOf({ meta, title }: HeadFacts): string {
  return (meta.get('og:title') ?? meta.get('twitter:title') ?? title).replace(/\s+/g, ' ').trim().slice(0, 500)
}

interface Dates {
  readonly published?: PageDate
  readonly modified?: PageDate
}

const publishedNames = [
  'article:published_time',
  'datepublished',
  'date',
  'dc.date',
  'dc.date.issued',
  'dcterms.created',
  'pubdate',
  'publishdate',
  'sailthru.date',
  'parsely-pub-date',
  'citation_publication_date',
]
const modifiedNames = ['article:modified_time', 'datemodified', 'og:updated_time', 'last-modified', 'dcterms.modified', 'dc.date.modified']

/**
 * The dates of a page. JSON-LD is written for programs, so it is used first. `<time>` elements are used last, because they may belong to
 * another article.
 */
export function datesOf(head: HeadFacts): Dates {
  const data = jsonLdFacts(head)
  const fromMeta = (names: readonly string[]) => names.flatMap((name) => isoDate(head.meta.get(name)) ?? [])[0]
  const published =
    dated(data.published, 'json-ld', 0.95) ??
    dated(fromMeta(publishedNames), 'meta', 0.9) ??
    dated(head.times.slice(0, 5).flatMap((time) => isoDate(time) ?? [])[0], 'time-element', 0.5)
  const modified = dated(data.modified, 'json-ld', 0.95) ?? dated(fromMeta(modifiedNames), 'meta', 0.9)
  return { ...(published && { published }), ...(modified && { modified }) }
}

const dated = (iso: string | undefined, method: PageDate['method'], confidence: number): PageDate | undefined =>
  iso === undefined ? undefined : { iso, method, confidence }

interface JsonLdFacts {
  published?: string
  modified?: string
  paywalled: boolean
}

const maxObjects = 200

/** Reads the JSON-LD of a page. Its objects may be in lists and in `@graph`. */
export function jsonLdFacts({ jsonLd }: HeadFacts): JsonLdFacts {
  const facts: JsonLdFacts = { paywalled: false }
  const open: unknown[] = jsonLd.slice(0, 10).map(parse)
  for (let count = 0; open.length > 0 && count < maxObjects; count++) {
    const value = open.shift()
    if (Array.isArray(value)) open.push(...value.slice(0, maxObjects))
    else if (typeof value === 'object' && value !== null) {
      const object = value as Readonly<Record<string, unknown>>
      const published = isoDate(object.datePublished)
      const modified = isoDate(object.dateModified)
      if (published !== undefined) facts.published ??= published
      if (modified !== undefined) facts.modified ??= modified
      if (/^false$/i.test(String(object.isAccessibleForFree))) facts.paywalled = true
      open.push(object['@graph'], object.mainEntity, object.mainEntityOfPage)
    }
  }
  return facts
}

/** Undefined for JSON that can not be parsed. Many pages have such JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a page says that its text is only for subscribers. */
export function isPaywalled(head: HeadFacts): boolean {
  const tier = (head.meta.get('article:content_tier') ?? '').toLowerCase()
  return tier === 'locked' || jsonLdFacts(head).paywalled
}
