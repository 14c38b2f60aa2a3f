import { formatLink, formatSuperscript } from './draw.ts'
import { type Citation, createCitationScanner } from './scan.ts'
import type { CitationFormat, CitationReplacer, CitedSource, SourceMap } from './source-map.ts'

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
