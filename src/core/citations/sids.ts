import { type Citation, createCitationScanner } from './scan.ts'

/** The format of a text with citations. In markdown, citations in fenced code are ignored. In `any`, citations count in code, too. */
export type CitedTextFormat = 'markdown' | 'html' | 'any'

/** The source ids that a text cites, ascending. Citations in code and ids in `[[USAGE:…]]` do not count. */
export function extractSids(text: string, format: CitedTextFormat = 'markdown'): readonly number[] {
  if (!mayCite(text)) return []
  const ids = new Set<number>()
  scanAll(text, format, (citation) => {
    if (citation.kind !== 'usage') for (const id of citation.ids) ids.add(id)
    return citation.text
  })
  return [...ids].sort((a, b) => a - b)
}

/**
 * Replaces cited ids by their new numbers. An id without a new number is removed, and so is a citation without any id left. A citation
 * whose ids do not change keeps its spelling.
 */
export function rewriteSids(text: string, renumbered: ReadonlyMap<number, number>, format: CitedTextFormat = 'markdown'): string {
  if (!mayCite(text)) return text
  return scanAll(text, format, (citation) => {
    const ids = [...new Set(citation.ids.flatMap((id) => renumbered.get(id) ?? []))]
    if (ids.length === citation.ids.length && ids.every((id, index) => id === citation.ids[index])) return citation.text
    if (ids.length === 0) return ''
    const list = ids.join(',')
    if (citation.kind === 'superscript') return `<sup class="cite" data-sids="${list}">[[S:${list}]]</sup>`
    return `[[${citation.kind === 'usage' ? 'USAGE' : 'S'}:${list}]]`
  })
}

/** True when a text is not blank without its usage tags and its citations of unknown sources. */
export function hasReadableText(text: string, isKnown: (sid: number) => boolean): boolean {
  const first = text.trimStart().charAt(0)
  if (!mayCite(first)) return first !== '' // the first character can not start a citation, so the text is readable
  return (
    scanAll(text, 'markdown', (citation) => (citation.kind !== 'usage' && citation.ids.some(isKnown) ? citation.text : '')).trim() !== ''
  )
}

/** False for a text without any character that can start a citation. Most texts are such, and need no scan. */
const mayCite = (text: string): boolean => text.includes('[') || text.includes('<') || text.includes('\uff3b')

function scanAll(text: string, format: CitedTextFormat, replace: (citation: Citation) => string): string {
  const fences = format === 'markdown'
  const inCode = format === 'any'
  const scanner = createCitationScanner({ fences, inCode, superscripts: true, changesCitations: true, changesUsage: true, replace })
  return scanner.push(text) + scanner.flush()
}
