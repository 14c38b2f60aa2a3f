import { extractSids } from '../../core/citations/sids.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { isSid } from '../../core/sources/source.ts'

/** The sources that a written text cites, ascending: by its citations, or by the list that data carries. */
export function citedSids(text: string, mime: string): readonly number[] {
  if (mime === 'application/json') return jsonCitations(parseJson(text))
  if (mime === 'application/yaml') return yamlCitations(text)
  return extractSids(text, mime === 'text/html' ? 'html' : 'markdown')
}

function jsonCitations(value: unknown): readonly number[] {
  const citations = isObject(value) && Array.isArray(value.citations) ? value.citations : []
  return sortedSids(citations.flatMap((citation) => (isObject(citation) && Array.isArray(citation.sids) ? citation.sids : [])))
}

/** Only as it is usually written: `citations:` at the left edge, and `sids: [1, 2]` or a list of dashes below. Line by line: it may be long. */
function yamlCitations(text: string): readonly number[] {
  const sids: number[] = []
  let [inside, listing] = [false, false]
  for (const line of text.split('\n')) {
    if (!inside || !/^(?:[ \t-]|\r?$)/.test(line)) {
      inside = line.startsWith('citations:')
      listing = false
      continue
    }
    const item = listing ? /^\s*-\s*(\d+)\s*$/.exec(line)?.[1] : undefined
    if (item !== undefined) sids.push(Number(item))
    else if (line.trim() !== '') {
      const [, list] = /\bsids:([^\n]*)/.exec(line) ?? []
      const flow = /^\s*\[([^\]]*)\]/.exec(list ?? '')?.[1] ?? ''
      for (const [sid] of flow.matchAll(/\d+/g)) sids.push(Number(sid))
      listing = list?.trim() === ''
    }
  }
  return sortedSids(sids)
}

const sortedSids = (sids: readonly unknown[]) => [...new Set(sids.filter(isSid))].sort((a, b) => a - b)
