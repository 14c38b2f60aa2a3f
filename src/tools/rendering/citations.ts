import { createCitationScanner } from '../../core/citations/scan.ts'
import { sourcesBySid } from '../../core/sources/pool.ts'
import { isWebAddress, type SourceRow } from '../../core/sources/source.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { ContentFormat, DocumentSource } from '../../ports/documents.ts'

/** A content in which the citations are replaced by elements that a renderer can find. */
export interface CitedContent {
  readonly content: string
  /** The cited sources, in the order of their first citation. */
  readonly rows: readonly SourceRow[]
  /** Cited SIDs for which there is no source, in ascending order. Their citations are left out of the document. */
  readonly missing: readonly number[]
}

/**
 * Replaces the citations of a content by elements. If a citation of an image is alone on its line, the image itself is inserted. Diagrams
 * have no citations.
 */
export function markCitations(content: string, format: ContentFormat, { sources }: Timeline): CitedContent {
  if (format === 'mermaid') return { content, rows: [], missing: [] }
  const bySid = sourcesBySid(sources)
  const rows = new Map<number, SourceRow>()
  const missing = new Set<number>()
  const scanner = createCitationScanner({
    fences: format === 'markdown',
    superscripts: true,
    changesCitations: true,
    changesUsage: true,
    replace({ kind, ids }) {
      if (kind === 'usage') return ''
      const known = ids.filter((sid) => {
        const row = bySid.get(sid)
        if (row) rows.set(sid, row)
        else missing.add(sid)
        return row !== undefined
      })
      return known.length === 0 ? '' : `<sup class="cite" data-sids="${known.join(',')}"></sup>`
    },
  })
  const marked = scanner.push(content) + scanner.flush()
  return { content: showImages(marked, rows), rows: [...rows.values()], missing: [...missing].sort((a, b) => a - b) }
}

const loneCitation = /^[ \t]{0,3}<sup class="cite" data-sids="(\d{1,15})"><\/sup>[ \t]{0,9}\r?$/gm

function showImages(content: string, rows: ReadonlyMap<number, SourceRow>): string {
  return content.replace(loneCitation, (citation, sid: string) => {
    const row = rows.get(Number(sid))
    const path = row?.mime?.startsWith('image/') ? row.physical_path : undefined
    if (row === undefined || path === undefined) return citation
    const title = escapeHtml(row.title ?? '')
    return `<figure><img src="${escapeHtml(encodeURI(path))}" alt="${title}"><figcaption>${title}${citation.trim()}</figcaption></figure>\n`
  })
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** A source as a document shows it. Only web addresses become links. */
export function documentSource({ sid, title, url, physical_path }: SourceRow): DocumentSource {
  const address = isWebAddress(url) ? url : undefined
  const name = title?.trim() || address || physical_path?.split('/').at(-1) || `Source ${sid}`
  return { sid, title: name, ...(address !== undefined && { url: address }), ...(physical_path !== undefined && { path: physical_path }) }
}
