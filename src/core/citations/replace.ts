import { type Citation, type CutEnd, createCitationScanner } from './scan.ts'

/** The parts of a source that a citation shows. */
export interface CitedSource {
  readonly title?: string
  readonly url?: string
  readonly text?: string
}

/** The sources that can be cited, by SID. `[[S:3]]` cites the source with the SID 3. */
export type SourceMap = ReadonlyMap<number, CitedSource>

/**
 * The format of the text that contains the citations. In `markdown` and `text`, a citation becomes a link in markdown. In `html`, it
 * becomes a superscript. A `verbatim` text is not changed.
 */
export type CitationFormat = 'markdown' | 'text' | 'html' | 'verbatim'

/** Replaces citations in a text that arrives in chunks. The output is the same wherever the text is divided into chunks. */
export interface CitationReplacer {
  /**
   * Takes the next chunk and returns the text with its citations replaced. If the chunk ends inside a possible citation, the beginning of
   * this citation is not returned yet. It is held back until a later call shows whether it is a citation.
   */
  push(text: string): string
  /** Ends the input and returns the text that was held back. If it is a complete citation, it is replaced. Otherwise it is not changed. */
  flush(): string
  /** All cited SIDs in ascending order, including those for which there is no source. */
  readonly used: readonly number[]
  /** The cited SIDs for which there is no source, in ascending order. */
  readonly unresolved: readonly number[]
  /**
   * The SIDs in tags such as `[[USAGE:1,3]]`, in ascending order. With such a tag, a model reports which sources it used, without showing a
   * citation to the user.
   */
  readonly usage: readonly number[]
}

/**
 * A replacer that also tells how much of the input it holds back. From this number, the caller knows which part of the input the returned
 * text corresponds to.
 */
export interface BufferingReplacer extends CitationReplacer {
  /** The number of characters that were passed to `push` and are held back. */
  readonly held: number
  cut(): CutEnd
}

/** Options of `createCitationReplacer`. */
export interface CitationReplacerOptions {
  readonly format: CitationFormat
  /** Returns the known sources. It is called for each citation, because sources may be added while the model writes. */
  sources(): SourceMap
  /** When true, `[[USAGE:…]]` tags are removed from the output. */
  readonly stripUsage: boolean
  /** When false, citations stay in the text as they are. Their SIDs are still collected in `used`. Default: true. */
  readonly replaceCitations?: boolean
  /** If true, a citation whose sources are all unknown stays in the text. If false, it is removed. Default: true. */
  readonly keepUnresolved?: boolean
  /** When true, only the first source of each citation is shown. */
  readonly firstOnly?: boolean
  /** When true, a source that is an image is embedded as an image. Otherwise the citation becomes a link. */
  readonly embedImages?: boolean
}

/** Makes a replacer that replaces citations by links or superscripts and collects the cited SIDs. */
export function createCitationReplacer(options: CitationReplacerOptions): BufferingReplacer {
  const { push, flush, cut, held, cited } = createCitationRewriter(options)
  return {
    push,
    flush,
    cut,
    get held() {
      return held()
    },
    get used() {
      return ascending(cited.used)
    },
    get unresolved() {
      return ascending(cited.unresolved)
    },
    get usage() {
      return ascending(cited.usage)
    },
  }
}

const ascending = (ids: ReadonlySet<number>): readonly number[] => [...ids].sort((a, b) => a - b)

/**
 * Makes a replacer that returns the same text as `createCitationReplacer`. It collects the SIDs in unsorted sets (`cited`). Callers that
 * need only the text save the time for sorting.
 */
export function createCitationRewriter(options: CitationReplacerOptions) {
  const { format, keepUnresolved = true, firstOnly = false, embedImages = false } = options
  const replaces = format !== 'verbatim' && (options.replaceCitations ?? true)
  const strips = format !== 'verbatim' && options.stripUsage
  const cited = { used: new Set<number>(), unresolved: new Set<number>(), usage: new Set<number>() }
  const links = new Map<number, { readonly source: CitedSource; readonly text: string }>()

  function replace(citation: Citation): string {
    if (citation.kind === 'usage') {
      for (const id of citation.ids) cited.usage.add(id)
      return strips ? '' : citation.text
    }
    const sources = options.sources()
    for (const id of citation.ids) {
      cited.used.add(id)
      if (!sources.has(id)) cited.unresolved.add(id)
    }
    return replaces && (sources.size > 0 || !keepUnresolved) ? formatCitation(citation, sources) : citation.text
  }

  function formatCitation(citation: Citation, sources: SourceMap): string {
    const known = citation.ids.filter((id) => sources.has(id))
    if (known.length === 0 && !keepUnresolved) return ''
    const candidates = known.length === 0 || (format === 'html' && keepUnresolved && !firstOnly) ? citation.ids : known
    const ids = firstOnly ? candidates.slice(0, 1) : candidates
    if (format === 'html') return formatSuperscript(ids, sources)
    return known.length === 0 ? citation.text : ids.map((id) => link(id, sources.get(id) as CitedSource)).join(' ')
  }

  /** The link to a source. The text of the link is made again only if `sources` returns a new object for the source. */
  function link(id: number, source: CitedSource): string {
    const known = links.get(id)
    if (known?.source === source) return known.text
    const text = formatLink(id, source, embedImages)
    links.set(id, { source, text })
    return text
  }

  const scanner = createCitationScanner({
    // In HTML, text in a code fence is not treated as code, because models put a fence around a whole HTML document.
    fences: format === 'markdown' || format === 'text',
    superscripts: format === 'html',
    changesCitations: replaces,
    changesUsage: strips,
    links: replaces && format !== 'html',
    replace,
  })

  return { push: scanner.push, flush: scanner.flush, cut: scanner.cut, held: scanner.held, cited }
}

/** Options of `replaceBatch`. */
export interface BatchOptions extends Pick<CitationReplacerOptions, 'keepUnresolved' | 'firstOnly' | 'embedImages'> {
  readonly mode?: 'links' | 'superscript'
  readonly stripUsage?: boolean
}

/** Replaces the citations in a complete text. */
export function replaceBatch(text: string, sources: SourceMap, options: BatchOptions = {}): string {
  const { mode = 'links', stripUsage = true, ...rest } = options
  const replacer = createCitationRewriter({ ...rest, stripUsage, format: mode === 'links' ? 'markdown' : 'html', sources: () => sources })
  return replacer.push(text) + replacer.flush()
}

/** Formats a citation as `<sup class="cite" data-sids="1,3">`. Each source that has a web address gets a link. */
function formatSuperscript(ids: readonly number[], sources: SourceMap): string {
  const marks = ids.map((id) => {
    const url = webAddress(sources.get(id))
    if (url === undefined) return `[S:${id}]`
    return `<a href="${escapeAttribute(url)}" target="_blank" rel="noopener noreferrer">[S:${id}]</a>`
  })
  return `<sup class="cite" data-sids="${ids.join(',')}">${marks.join(' ')}</sup>`
}

/** Formats a source as `[title](url)`, or as its title if it has no web address. */
function formatLink(id: number, source: CitedSource, embedImages: boolean): string {
  const url = webAddress(source)
  const title = escapeTitle(source.title?.trim() || source.url?.trim() || `Source ${id}`)
  if (url === undefined) return title
  return `${embedImages && isImage(url) ? '!' : ''}[${title}](${escapeUrl(url)})`
}

/**
 * The address for a link. Only http and https addresses are allowed: an address with `javascript:` could run code when a user clicks it.
 */
function webAddress(source: CitedSource | undefined): string | undefined {
  const url = source?.url?.trim()
  return url !== undefined && /^https?:\/\//i.test(url) ? url : undefined
}

const isImage = (url: string): boolean => /\.(?:png|jpe?g|gif|webp|svg|avif|bmp)$/i.test(url.replace(/[?#][\s\S]*$/, ''))

/** Escapes characters of a title that would end the link or a table cell, or would start code or an HTML tag. */
const escapeTitle = (title: string): string =>
  title
    .replaceAll('"', "'")
    .replace(/[\\[\]|<`]/g, '\\$&')
    .replace(/[\r\n]/g, ' ')

/** Escapes characters of an address that would end the link, its line or a table cell. */
const escapeUrl = (url: string): string =>
  url.replace(/[\s()<>"\\|`\p{Cc}]/gu, (character) =>
    character === '(' ? '%28' : character === ')' ? '%29' : encodeURIComponent(character),
  )

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escapeAttribute = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] as string)
