import { type Citation, createCitationScanner } from './scan.ts'

/** Markdown has code fences, HTML has none; `<sup class="cite">` is known in both. */
export type CitedTextFormat = 'markdown' | 'html'

/** The ids that a text cites, ascending. What stands in code, or only in `[[USAGE:…]]`, does not count. */
export function extractSids(text: string, format: CitedTextFormat = 'markdown'): readonly number[] {
  if (!mayCite(text)) return []
  const ids = new Set<number>()
  scanAll(text, format, (citation) => {
    if (citation.kind !== 'usage') for (const id of citation.ids) ids.add(id)
    return citation.text
  })
  return [...ids].sort((a, b) => a - b)
}

/** Gives every cited id its new number. A citation of which nothing has a new number is taken out; one that keeps its numbers, its spelling. */
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

/** Something of a text is left to read once usage, and citations of which nothing is known, are taken out. */
export function hasReadableText(text: string, isKnown: (sid: number) => boolean): boolean {
  const begun = text.trimStart()
  if (begun === '' || !mayCite(begun.charAt(0))) return begun !== '' // most texts begin with a word
  return scanAll(begun, 'markdown', ({ kind, ids, text: cited }) => (kind !== 'usage' && ids.some(isKnown) ? cited : '')).trim() !== ''
}

/** Most texts hold no character that a citation begins with. */
const mayCite = (text: string): boolean => text.includes('[') || text.includes('<') || text.includes('\uff3b')

function scanAll(text: string, format: CitedTextFormat, draw: (citation: Citation) => string): string {
  const fences = format === 'markdown'
  const scanner = createCitationScanner({ fences, superscripts: true, changesCitations: true, changesUsage: true, replace: draw })
  return scanner.push(text) + scanner.flush()
}
