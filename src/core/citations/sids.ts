import { type Citation, createCitationScanner } from './scan.ts'

/**
 * The format of a text with citations. It decides where citations are found. `markdown`: not in fenced code and not between two backticks.
 * `html`: also in fenced code, but not between two backticks. `any`: everywhere.
 */
export type CitedTextFormat = 'markdown' | 'html' | 'any'

/**
 * The SIDs that a text cites, in ascending order. The SIDs in `[[USAGE:…]]` tags are left out. `format` decides whether citations in code
 * are found.
 */
export function extractSids(text: string, format: CitedTextFormat = 'markdown'): readonly number[] {
  if (!mayCite(text)) return []
  if (latest?.text === text && latest.format === format) return latest.sids
  const ids = new Set<number>()
  let hasUsage = false
  scanAll(text, format, (citation) => {
    if (citation.kind === 'usage') hasUsage = true
    else for (const id of citation.ids) ids.add(id)
    return citation.text
  })
  const sids = [...ids].sort((a, b) => a - b)
  latest = { text, format, sids, hasUsage }
  return sids
}

/** What `extractSids` found in its latest text. The end of a turn reads its answer six times, and an answer may be long. */
let latest: Cited | undefined

interface Cited {
  readonly text: string
  readonly format: CitedTextFormat
  readonly sids: readonly number[]
  /** Whether the text has a `[[USAGE:…]]` tag. */
  readonly hasUsage: boolean
}

/**
 * Replaces each cited SID by its number in `renumbered`. A SID that is not in `renumbered` is removed from its citation. If this leaves a
 * citation without SIDs, the citation is removed. A citation whose SIDs do not change keeps its spelling.
 */
export function rewriteSids(text: string, renumbered: ReadonlyMap<number, number>, format: CitedTextFormat = 'markdown'): string {
  if (!mayCite(text)) return text
  const isUnchanged = latest?.text === text && latest.format === format && !latest.hasUsage
  if (isUnchanged && latest?.sids.every((sid) => renumbered.get(sid) === sid)) return text
  return scanAll(text, format, (citation) => {
    const ids = [...new Set(citation.ids.flatMap((id) => renumbered.get(id) ?? []))]
    if (ids.length === citation.ids.length && ids.every((id, index) => id === citation.ids[index])) return citation.text
    if (ids.length === 0) return ''
    const list = ids.join(',')
    if (citation.kind === 'superscript') return `<sup class="cite" data-sids="${list}">[[S:${list}]]</sup>`
    return `[[${citation.kind === 'usage' ? 'USAGE' : 'S'}:${list}]]`
  })
}

/** True when the text contains more than white space, usage tags and citations of unknown sources. */
export function hasReadableText(text: string, isKnown: (sid: number) => boolean): boolean {
  const first = text.trimStart().charAt(0)
  // The first character can not begin a citation, so it is readable text.
  if (!mayCite(first)) return first !== ''
  return (
    scanAll(text, 'markdown', (citation) => (citation.kind !== 'usage' && citation.ids.some(isKnown) ? citation.text : '')).trim() !== ''
  )
}

/** False when the text has no character that can begin a citation. Such a text need not be scanned. */
const mayCite = (text: string): boolean => text.includes('[') || text.includes('<') || text.includes('\uff3b')

function scanAll(text: string, format: CitedTextFormat, replace: (citation: Citation) => string): string {
  const fences = format === 'markdown'
  const inCode = format === 'any'
  const scanner = createCitationScanner({ fences, inCode, superscripts: true, changesCitations: true, changesUsage: true, replace })
  return scanner.push(text) + scanner.flush()
}
