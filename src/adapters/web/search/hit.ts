import { isWebAddress } from '../../../core/sources/source.ts'
import type { SearchHit } from '../../../ports/web.ts'

/** The fields of a result as a service sends them. Each of them may be missing or have any type. */
export interface RawHit {
  readonly url: unknown
  readonly title: unknown
  readonly text: unknown
  readonly score?: unknown
  readonly published?: string | undefined
  readonly favicon?: unknown
}

/** Makes a result from the fields of a service. Undefined if the address is not that of a web page. */
export function toHit({ url, title, text, score, published, favicon }: RawHit): SearchHit | undefined {
  if (!isWebAddress(url)) return undefined
  return {
    url,
    title: plainText(title, 300),
    text: plainText(text, 2_000),
    ...(typeof score === 'number' && Number.isFinite(score) && { score: Math.min(1, Math.max(0, score)) }),
    ...(published !== undefined && { published }),
    ...(isWebAddress(favicon) && { favicon }),
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', '#39': "'", '#x27': "'" }

/** Removes tags such as `<strong>`, with which some services mark the words of the query. */
function plainText(value: unknown, maxLength: number): string {
  if (typeof value !== 'string') return ''
  return value
    .slice(0, maxLength * 2)
    .replace(/<\/?[a-z][^<>]{0,200}>/gi, '')
    .replace(/&(amp|lt|gt|quot|apos|nbsp|#39|#x27);/gi, (whole, name: string) => entities[name.toLowerCase()] ?? whole)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxLength)
}
