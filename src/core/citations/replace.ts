import { type Citation, createCitationScanner } from './scan.ts'

export interface CitationReplacerOptions {
  readonly format: CitationFormat
  /** Asked at each citation, so that a source merged while the model writes is found. */
  sources(): SourceMap
  /** Takes `[[USAGE:…]]` out of the output. */
  readonly stripUsage: boolean
  /** False: citations are counted and stay as written. */
  readonly replaceCitations?: boolean
  /** False: a citation of which nothing is known is taken out. */
  readonly keepUnresolved?: boolean
  /** Draws only the first source of each citation. */
  readonly firstOnly?: boolean
  /** Shows a source that is an image instead of linking to it. */
  readonly embedImages?: boolean
}

/** A replacer that tells how much it holds, so that what it hands on can be set beside the text it was made of. */
export interface BufferingReplacer extends CitationReplacer {
  /** How many of the characters pushed are held and not yet in any output. */
  readonly held: number
}

/** What was met so far. */
interface CitationTally {
  readonly used: Set<number>
  readonly unresolved: Set<number>
  readonly usage: Set<number>
  readonly links: Map<number, { readonly source: CitedSource; readonly text: string }>
}

export function createCitationReplacer(options: CitationReplacerOptions): BufferingReplacer {
  const { push, flush, held, seen } = createCitationRewriter(options)
  return {
    push,
    flush,
    get held() {
      return held()
    },
    get used() {
      return ascending(seen()?.used)
    },
    get unresolved() {
      return ascending(seen()?.unresolved)
    },
    get usage() {
      return ascending(seen()?.usage)
    },
  }
}

/** The same for those who only want the text: one is made for every lane of every response. */
export function createCitationRewriter(options: CitationReplacerOptions) {
  const { format, keepUnresolved = true, firstOnly = false, embedImages = false } = options
  const replaces = format !== 'verbatim' && (options.replaceCitations ?? true)
  const strips = format !== 'verbatim' && options.stripUsage
  let seen: CitationTally | undefined // most texts cite nothing

  function draw(citation: Citation): string {
    seen ??= { used: new Set(), unresolved: new Set(), usage: new Set(), links: new Map() }
    if (citation.kind === 'usage') {
      for (const id of citation.ids) seen.usage.add(id)
      return strips ? '' : citation.text
    }
    const sources = options.sources()
    for (const id of citation.ids) {
      seen.used.add(id)
      if (!sources.has(id)) seen.unresolved.add(id)
    }
    return replaces && (sources.size > 0 || !keepUnresolved) ? drawIds(citation, sources) : citation.text
  }

  function drawIds(citation: Citation, sources: SourceMap): string {
    const known = citation.ids.filter((id) => sources.has(id))
    if (known.length === 0 && !keepUnresolved) return ''
    const shown = known.length === 0 || (format === 'html' && keepUnresolved && !firstOnly) ? citation.ids : known
    const ids = firstOnly ? shown.slice(0, 1) : shown
    if (format === 'html') return formatSuperscript(ids, sources)
    return known.length === 0 ? citation.text : ids.map((id) => link(id, sources.get(id) as CitedSource)).join(' ')
  }

  /** Each source is drawn once, for as long as the pool gives the same one. */
  function link(id: number, source: CitedSource): string {
    const known = seen?.links.get(id)
    if (known?.source === source) return known.text
    const text = formatLink(id, source, embedImages)
    seen?.links.set(id, { source, text })
    return text
  }

  const scanner = createCitationScanner({
    // Elsewhere a fence is only the wrapping that a model likes to put around everything.
    fences: format === 'markdown' || format === 'text',
    superscripts: format === 'html',
    changesCitations: replaces,
    changesUsage: strips,
    replace: draw,
  })

  return { push: scanner.push, flush: scanner.flush, held: scanner.held, seen: () => seen }
}

export interface BatchOptions extends Pick<CitationReplacerOptions, 'keepUnresolved' | 'firstOnly' | 'embedImages'> {
  readonly mode?: 'links' | 'superscript'
  readonly stripUsage?: boolean
}

/** The same replacement on a text that is already whole. */
export function replaceBatch(text: string, sources: SourceMap, options: BatchOptions = {}): string {
  const { mode = 'links', stripUsage = true, ...rest } = options
  const replacer = createCitationReplacer({ ...rest, stripUsage, format: mode === 'links' ? 'markdown' : 'html', sources: () => sources })
  return replacer.push(text) + replacer.flush()
}

const ascending = (ids: ReadonlySet<number> = new Set()): readonly number[] => [...ids].sort((a, b) => a - b)

/** What a citation needs to know of a source. */
export interface CitedSource {
  readonly title?: string
  readonly url?: string
  readonly text?: string
}

export type SourceMap = ReadonlyMap<number, CitedSource>

/** How the text around a citation is read: it decides how the citation is drawn. */
export type CitationFormat = 'markdown' | 'text' | 'html' | 'verbatim'

/** Replaces citations in text that arrives in pieces. Output does not depend on where the pieces were cut. */
export interface CitationReplacer {
  /** Everything that can no longer become part of a token; the rest is held. */
  push(text: string): string
  /** The held rest, verbatim unless it completes a token. */
  flush(): string
  /** Ids in recognised tokens, ascending, whether or not they resolve. */
  readonly used: readonly number[]
  readonly unresolved: readonly number[]
  /** Ids named by `[[USAGE:…]]`. */
  readonly usage: readonly number[]
}

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
