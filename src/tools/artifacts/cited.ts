import { extractSids } from '../../core/citations/sids.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { isSid } from '../../core/sources/source.ts'

/** The sources that a written text cites, ascending: by its citations, or by the list that data carries. */
export function citedSids(text: string, mime: string): readonly number[] {
  if (mime === 'application/json') return citationList(parseJson(text))
  if (mime === 'application/yaml') return yamlCitations(text)
  return extractSids(text, mime === 'text/html' ? 'html' : 'markdown')
}

function citationList(value: unknown): readonly number[] {
  const citations = isObject(value) && Array.isArray(value.citations) ? value.citations : []
  return ascending(citations.flatMap((citation) => (isObject(citation) && Array.isArray(citation.sids) ? citation.sids : [])))
}

/** Only as it is usually written: `citations:` at the left edge, and `sids: [1, 2]` or a list of dashes below. */
function yamlCitations(text: string): readonly number[] {
  const section = /^citations:[^\n]*\n((?:[ \t-][^\n]*\n?|\n)*)/m.exec(text)?.[1] ?? ''
  const lists = [...section.matchAll(/sids:\s*(?:\[([^\]\n]*)\]|((?:\n\s*-\s*\d+)+))/g)]
  return ascending(lists.flatMap(([, flow = '', block = '']) => [...`${flow} ${block}`.matchAll(/\d+/g)].map(([sid]) => Number(sid))))
}

const ascending = (sids: readonly unknown[]) => [...new Set(sids.filter(isSid))].sort((a, b) => a - b)
